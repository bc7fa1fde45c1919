/** Texts in quotes, on one line. */

import { BACKSLASH, DOUBLE_QUOTE, LINE_FEED, SINGLE_QUOTE } from "./characters.ts";
import type { Cursor } from "./cursor.ts";

export function isQuote(code: number): boolean {
  return code === SINGLE_QUOTE || code === DOUBLE_QUOTE;
}

/**
 * Reads the quoted text at the cursor, including its closing quote.
 *
 * @throws YamlFault if it does not end on its line, or has an escape that YAML 1.1 and 1.2 do not share
 */
export function readQuoted(cursor: Cursor): string {
  const quote = cursor.code();
  cursor.at++;
  // The text up to `from`; most texts are one piece.
  let read = "";
  let from = cursor.at;
  for (;;) {
    const code = cursor.code();
    if (code === LINE_FEED || Number.isNaN(code)) throw cursor.fault("quotedOverLines");
    if (code === quote) {
      const piece = cursor.text.slice(from, cursor.at);
      cursor.at++;
      if (quote === DOUBLE_QUOTE || cursor.code() !== SINGLE_QUOTE) return read + piece;
      // Two single quotes mean one. The second of them begins the next piece.
      read += piece;
      from = cursor.at;
    } else if (code === BACKSLASH && quote === DOUBLE_QUOTE) {
      read += cursor.text.slice(from, cursor.at) + readEscape(cursor);
      from = cursor.at;
      continue;
    }
    cursor.at++;
  }
}

/** The escapes of one character that YAML 1.1 and 1.2 share. (Only 1.2 has `\/`, and texts must end on their line.) */
const ESCAPES: Readonly<Record<string, string>> = {
  "0": "\0",
  a: "\x07",
  b: "\b",
  t: "\t",
  n: "\n",
  v: "\v",
  f: "\f",
  r: "\r",
  e: "\x1b",
  " ": " ",
  '"': '"',
  "\\": "\\",
  N: "\u0085",
  _: "\u00a0",
  L: "\u2028",
  P: "\u2029",
};
/** Escapes that give a character's code, with their number of hexadecimal digits. */
const CODE_DIGITS: Readonly<Record<string, number>> = { x: 2, u: 4, U: 8 };

/** Reads one escape, from its backslash on. */
function readEscape(cursor: Cursor): string {
  const sign = cursor.text.charAt(cursor.at + 1);
  if (sign === "" || sign === "\n") throw cursor.fault("quotedOverLines");
  const character = ESCAPES[sign];
  if (character !== undefined) {
    cursor.at += 2;
    return character;
  }
  const digits = CODE_DIGITS[sign];
  if (digits === undefined) throw cursor.fault("escape");
  const hex = cursor.text.slice(cursor.at + 2, cursor.at + 2 + digits);
  if (hex.length !== digits || !/^[0-9A-Fa-f]+$/.test(hex)) throw cursor.fault("escape");
  const code = Number.parseInt(hex, 16);
  // Half of a surrogate pair is not a character. JSON writes pairs, but YAML 1.1 refuses them.
  if (code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) throw cursor.fault("escape");
  cursor.at += 2 + digits;
  return String.fromCodePoint(code);
}
