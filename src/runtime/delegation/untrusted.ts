/**
 * Text that somebody else wrote, as it is shown: cut to a size, and inside a fence, so that a model does not mistake it
 * for text from its runtime.
 */

import { BLANK, printableLines } from "../../printable.ts";
import { type ArtifactName, bareName } from "../../registry/artifact-name.ts";
import type { LaunchFailure } from "../launch/outcome.ts";

const NEUTRALISED = "!MURMUR-NEUTRALISED!";

/** `content` inside a fence that names its source. Nothing in it can close the fence or open another. */
export function fenceUntrusted(source: string, content: string): string {
  const name = source.replaceAll(">", "_").replace(/[\r\n]/g, " ");
  return `<untrusted-content source=${name}>\n${neutralise(content)}\n</untrusted-content>`;
}

/**
 * What can open a marker: `<`, its wide, small and tag forms, brackets that look like it, and its escapes in HTML, URLs
 * and string literals.
 */
const OPENING =
  /[<\u{fe64}\u{ff1c}\u{e003c}\u{226e}\u{2039}\u{2329}\u{3008}\u{27e8}\u{276e}\u{2770}\u{29fc}\u{2c2}\u{1438}]|&(?:lt|#0*60|#x0*3c);?|%3c|\\(?:u00|x)3c/giu;

/**
 * Breaks every fence marker, opening or closing, by inserting text right after its `<`. It finds markers in upper and
 * lower case, with white space, invisible, wide or accented characters in them, and with look-alike letters of other
 * scripts. It removes nothing, and a second pass changes nothing.
 */
export function neutralise(content: string): string {
  // The text is read only once, however many openings it has. An invisible opening is also skipped as a character when
  // we read on from an earlier one.
  let readings: readonly Reading[] | undefined;
  return content.replace(OPENING, (opening, at: number) => {
    readings ??= [readAs(content, lettersOf), readAs(content, taggedLettersOf)];
    const start = at + opening.length;
    const isMarker = readings.some(({ letters, places }) => letters.startsWith(LETTERS, places[start]));
    return isMarker ? `${opening}${NEUTRALISED}` : opening;
  });
}

/** The marker's letters. Its hyphen and slash are skipped, and so is anything that looks like them. */
const LETTERS = "untrustedcontent";

/**
 * An invisible character in the escaped form that `printable` gives it. It is skipped, just like the character itself.
 * An escaped `<` is not matched here, since it opens a marker.
 */
const ESCAPED = /\\u(?!003[cC])[0-9a-fA-F]{4}/y;

/** A text reduced to the letters that count; everything else is skipped. */
interface Reading {
  readonly letters: string;
  /** Maps each place in the text to the place in `letters` where reading from there starts. */
  readonly places: Uint32Array;
}

function readAs(text: string, lettersIn: (character: string) => string): Reading {
  const places = new Uint32Array(text.length + 1);
  let letters = "";
  for (let at = 0; at < text.length; ) {
    places[at] = letters.length;
    ESCAPED.lastIndex = at;
    if (ESCAPED.test(text)) {
      at = ESCAPED.lastIndex;
      continue;
    }
    const character = String.fromCodePoint(text.codePointAt(at) ?? 0);
    at += character.length;
    letters += lettersIn(character);
  }
  places[text.length] = letters.length;
  return { letters, places };
}

const ACCENTS = /\p{M}/gu;
const BETWEEN = /^[\p{Pd}\u{2212}\u{2043}_/\\\u{2044}\u{2215}\u{29f8}\u{2571}]$/u;

/**
 * The marker's letters, each with small Greek, Cyrillic and Armenian letters and small capitals that look like it, as NFKD
 * writes them: the lunate sigma, which looks like a `c`, becomes one of the other sigmas.
 */
const ALIKE = {
  c: "сςσᴄ",
  d: "ԁᴅ",
  e: "еҽᴇ",
  n: "пոνɴ",
  o: "оοօᴏ",
  r: "гʀ",
  s: "ѕꜱ",
  t: "тτᴛ",
  u: "υսиᴜ",
};
const PLAIN = new Map(
  Object.entries(ALIKE).flatMap(([plain, alike]) => [...alike].map((letter) => [letter, plain] as const)),
);

/** The plain small letters that a character is read as; empty if it is skipped. */
function lettersOf(character: string): string {
  if (BLANK.test(character)) return "";
  const plain = character.normalize("NFKD").replace(ACCENTS, "").toLowerCase();
  const letter = PLAIN.get(plain) ?? plain;
  return BETWEEN.test(letter) ? "" : letter;
}

const TAGS = 0xe0000;

/** The same, but a tag character counts as the letter it stands for: people cannot see it, but a model reads it. */
function taggedLettersOf(character: string): string {
  const code = (character.codePointAt(0) ?? 0) - TAGS;
  return lettersOf(code > 0x20 && code < 0x7f ? String.fromCharCode(code) : character);
}

/** The longest quote, in bytes. With the launcher's text around it, it still fits the tool's output limit. */
const MAX_QUOTED_BYTES = 48 * 1024;

/** The source that a capsule's fence names: `delegation:worker`. */
export function sourceOf(name: ArtifactName): string {
  return `delegation:${bareName(name)}`;
}

/**
 * Text to append: what the child said, escaped and inside its own fence. Empty if the child said nothing.
 *
 * @param what names the quote: `its message`
 */
export function quoteChild(name: ArtifactName, what: string, said: string): string {
  if (said === "") return "";
  // Cut first, to spend no time on text that is not shown. Cut again, because escaping makes the text longer.
  const beginning = cutText(said, MAX_QUOTED_BYTES);
  const shown = cutText(printableLines(neutralise(beginning)), MAX_QUOTED_BYTES);
  return `\n${what}:\n${fenceUntrusted(sourceOf(name), shown)}`;
}

/** Why a launch failed, for a model or a trace: the launcher's reason, then the child's last lines. */
export function failureText(name: ArtifactName, { message, lastLines = [] }: LaunchFailure): string {
  return `${message}${quoteLines(name, lastLines)}`;
}

/** The last lines of a child's standard error. */
export function quoteLines(name: ArtifactName, lines: readonly string[]): string {
  return quoteChild(name, "last lines of its standard error", lines.join("\n"));
}

/** Keeps a byte order mark, so that the text is shown exactly as it was written. */
const DECODER = new TextDecoder("utf-8", { ignoreBOM: true });

/** The longest encoding of one character, in bytes. */
const LONGEST_SEQUENCE = 4;

/** How many of the first `limit` bytes make whole characters. If the bytes are not UTF-8, any cut will do. */
export function wholeCharacters(bytes: Uint8Array, limit: number): number {
  if (bytes.length <= limit) return bytes.length;
  for (let end = limit; end > limit - LONGEST_SEQUENCE && end > 0; end--) {
    if (!isContinuation(bytes[end])) return end;
  }
  return limit;
}

/** Decodes UTF-8; invalid bytes become U+FFFD. */
export function decodeUtf8(bytes: Uint8Array): string {
  return DECODER.decode(bytes);
}

/** What marks a cut. */
export const CUT_MARK = " […]";

/** At most `limit` bytes of the text, then the mark if it was cut. Does not cut the same text twice. */
export function cutText(text: string, limit: number): string {
  const bytes = Buffer.from(text);
  const own = text.endsWith(CUT_MARK) ? bytes.length - Buffer.byteLength(CUT_MARK) : bytes.length;
  if (own <= limit) return text;
  return `${decodeUtf8(bytes.subarray(0, wholeCharacters(bytes, limit)))}${CUT_MARK}`;
}

function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80;
}
