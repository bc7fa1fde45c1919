/** The fence around untrusted text, so that a model does not mistake it for text from its runtime. */

import { BLANK } from "../../printable.ts";

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

/** Small Greek, Cyrillic and Armenian letters, and small capitals, that look like one of the marker's letters. */
const ALIKE: Readonly<Record<string, string>> = {
  с: "c",
  ϲ: "c",
  ԁ: "d",
  е: "e",
  ё: "e",
  ҽ: "e",
  п: "n",
  ո: "n",
  ν: "n",
  о: "o",
  ο: "o",
  օ: "o",
  г: "r",
  ѕ: "s",
  т: "t",
  τ: "t",
  υ: "u",
  ս: "u",
  и: "u",
  ᴄ: "c",
  ᴅ: "d",
  ᴇ: "e",
  ɴ: "n",
  ᴏ: "o",
  ʀ: "r",
  ꜱ: "s",
  ᴛ: "t",
  ᴜ: "u",
};

/** The plain small letters that a character is read as; empty if it is skipped. */
function lettersOf(character: string): string {
  if (BLANK.test(character)) return "";
  const plain = character.normalize("NFKD").replace(ACCENTS, "").toLowerCase();
  const letter = ALIKE[plain] ?? plain;
  return BETWEEN.test(letter) ? "" : letter;
}

const TAGS = 0xe0000;

/** The same, but a tag character counts as the letter it stands for: people cannot see it, but a model reads it. */
function taggedLettersOf(character: string): string {
  const code = (character.codePointAt(0) ?? 0) - TAGS;
  return lettersOf(code > 0x20 && code < 0x7f ? String.fromCharCode(code) : character);
}
