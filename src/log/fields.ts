/** One line's fields as text: `key=value` pairs that no request can forge, of bounded length, and without a token. */

import { printable } from "../printable.ts";
import { holdsToken, tokenId } from "./token-id.ts";

/** Fields of one line, in the order they are written; absent ones are left out. */
export type LogFields = Readonly<Record<string, string | number | undefined>>;

/** A value that is more than one plain word is quoted and escaped. Of one that holds a token only the hash is written. */
export function formatFields(fields: LogFields): string {
  let line = "";
  for (const key in fields) {
    const value = fields[key];
    if (value === undefined) continue;
    line += `${line === "" ? "" : " "}${key}=${typeof value === "number" ? value : formatText(value)}`;
  }
  return line;
}

/** A value is at most so long as it is written, in bytes. */
const MAX_VALUE_BYTES = 256;
const PLAIN = /^[A-Za-z0-9_./:@+,-]{1,256}$/;

function formatText(text: string): string {
  if (holdsToken(text)) return hashed(text);
  if (PLAIN.test(text)) return text;
  const whole = text.length <= MAX_VALUE_BYTES ? `"${escaped(text)}"` : "";
  if (whole !== "" && Buffer.byteLength(whole) <= MAX_VALUE_BYTES) return whole;
  return `"${shortened(text)}"`;
}

/** One line of the log, with its line feed. */
export function logLine(level: string, text: string, date: Date): string {
  return `${date.toISOString()} ${level} ${text}\n`;
}

/** What is written instead of a text that nobody may read: the first 16 hex digits of its SHA-256. */
export function hashed(text: string): string {
  return `sha256:${tokenId(text)}`;
}

function escaped(text: string): string {
  return printable(JSON.stringify(text).slice(1, -1));
}

/**
 * A long text is cut to its beginning and its end, because a path's fault comes after it. With the quotes and the mark
 * between them, they add up to the bound.
 */
const HEAD_BYTES = 161;
const TAIL_BYTES = 90;

function shortened(text: string): string {
  const head = take(Array.from(text.slice(0, MAX_VALUE_BYTES)), HEAD_BYTES);
  const tail = take(Array.from(text.slice(-MAX_VALUE_BYTES)).reverse(), TAIL_BYTES);
  return `${head.join("")}…${tail.reverse().join("")}`;
}

/** Characters from the first on, escaped, as many as fit. */
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
