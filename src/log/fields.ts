/**
 * What a log line shows. A caller may put a token into any field, plain or encoded, and may try to forge a pair or to
 * make one too long. So the log shows values that cannot hold a token, and a hash or a length of everything else.
 * `formatFields` decides that, for every text of every line.
 */

import { printable } from "../printable.ts";
import type { Coordinates } from "../registry/artifact-name.ts";

/** Fields of one line, in the order they are written. Undefined ones are left out. */
export type LogFields = Readonly<Record<string, string | number | undefined>>;

/** Quotes and escapes a value that is not one plain word. Writes only the hash of a value that contains a token. */
export function formatFields(fields: LogFields): string {
  let line = "";
  for (const key in fields) {
    const value = fields[key];
    if (value === undefined) continue;
    line += `${line === "" ? "" : " "}${key}=${typeof value === "number" ? value : formatText(value)}`;
  }
  return line;
}

/** The longest a value may be when written, in bytes. */
const MAX_VALUE_BYTES = 256;
const PLAIN = /^[A-Za-z0-9_./:@+,-]{1,256}$/;

function formatText(given: string): string {
  if (holdsToken(given)) return hashed(given);
  const text = withoutLongWords(given);
  if (PLAIN.test(text)) return text;
  const whole = text.length <= MAX_VALUE_BYTES ? `"${escaped(text)}"` : "";
  if (whole !== "" && Buffer.byteLength(whole) <= MAX_VALUE_BYTES) return whole;
  return `"${shortened(text)}"`;
}

/** One line of the log, with its line feed. */
export function logLine(level: string, text: string, date: Date): string {
  return `${date.toISOString()} ${level} ${text}\n`;
}

/** Written in place of a text that may be secret: the first 16 hex digits of its SHA-256. */
export function hashed(text: string): string {
  return `sha256:${tokenId(text)}`;
}

function escaped(text: string): string {
  return printable(JSON.stringify(text).slice(1, -1));
}

/**
 * A long text is cut to its beginning and its end, because what is wrong with a path comes after the path. With the
 * quotes and the `…` the two add up to the limit.
 */
const HEAD_BYTES = 161;
const TAIL_BYTES = 90;

function shortened(text: string): string {
  const head = take(Array.from(text.slice(0, MAX_VALUE_BYTES)), HEAD_BYTES);
  const tail = take(Array.from(text.slice(-MAX_VALUE_BYTES)).reverse(), TAIL_BYTES);
  return `${head.join("")}…${tail.reverse().join("")}`;
}

/** The first characters, escaped: as many as fit. */
function take(characters: readonly string[], bytes: number): string[] {
  const taken: string[] = [];
  let left = bytes;
  for (const character of characters) {
    const piece = escaped(character);
    left -= Buffer.byteLength(piece);
    if (left < 0) break;
    taken.push(piece);
  }
  return taken;
}

/** `local/worker-a@0.1.0`. A version that could hold a token is shown as a hash. */
export function loggedCapsule({ name, version }: Coordinates): string {
  return `${name}@${couldHoldToken(version) ? hashed(version) : version}`;
}

/** A sentence about an artifact, for a line that names its capsule. It may quote the version, so it is shown like that. */
export function loggedSentence(sentence: string, { version }: Coordinates): string {
  return couldHoldToken(version) ? hashed(sentence) : sentence;
}

/** A version may contain spaces and the like, which may also part a token. */
function couldHoldToken(version: string): boolean {
  return version.length > LONGEST_SHOWN_WORD || holdsToken(version);
}

/**
 * Every token is longer than this, and so is its payload alone, whose random part nobody can guess. The SHA-256 of an
 * artifact is not longer.
 */
const LONGEST_SHOWN_WORD = 64;
/** What lies between characters that no token holds, however it is encoded. */
const WORD = /[^\s/@:,'"()]+/g;

/**
 * The text with a hash in place of each long word. Without its tag a token looks like any other text, and makes a usable
 * one again: so the length decides, in every text, also in a sentence or a path that quotes what a caller sent.
 */
function withoutLongWords(text: string): string {
  if (text.length <= LONGEST_SHOWN_WORD) return text;
  return text.replace(WORD, (word) => (Array.from(word).length > LONGEST_SHOWN_WORD ? hashed(word) : word));
}

/** The first 16 hex digits of the SHA-256 of a token's text. */
export function tokenId(token: string): string {
  return Bun.SHA256.hash(token, "hex").slice(0, 16);
}

const TOKEN_START = /ms[ac]1\./i;
/** How often a text is decoded: it may have been encoded more than once. */
const MAX_DECODINGS = 4;

/** Whether the text may contain a token with its tag: in any case, plain or percent-encoded, wholly or in part. */
function holdsToken(text: string): boolean {
  let decoded = text;
  for (let round = 0; decoded.includes("%") && round < MAX_DECODINGS; round++) {
    decoded = decoded.replace(/%([0-9a-f]{2})/gi, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)));
  }
  return TOKEN_START.test(decoded);
}
