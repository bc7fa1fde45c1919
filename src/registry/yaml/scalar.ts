/** Texts on one line, plain or in quotes, and whether they are keys. */

import {
  BACKSLASH,
  COLON,
  COMMA,
  DASH,
  DOUBLE_QUOTE,
  HASH,
  isFlowIndicator,
  LINE_FEED,
  QUESTION,
  SINGLE_QUOTE,
  SPACE,
  TAB,
} from "./characters.ts";
import type { Cursor } from "./cursor.ts";
import { MAX_KEY_LENGTH, type RefusedForm } from "./fault.ts";
import type { YamlText, YamlTree } from "./tree.ts";

/** Reads a plain or quoted text, and the spaces after it. */
export function readScalar(cursor: Cursor, inFlow: boolean): YamlText {
  const plain = !isQuote(cursor.code());
  const text = plain ? readPlain(cursor, inFlow) : readQuoted(cursor);
  cursor.skipSpaces();
  return { kind: "text", text, plain };
}

/** Whether the text just read is a key: a `:` is here, followed by a gap. */
export function isKey(cursor: Cursor): boolean {
  return cursor.code() === COLON && cursor.isGap(1);
}

/**
 * Checks a key whose `:` is at the cursor. `start`: the offset of its first character.
 *
 * @throws YamlFault if it is empty, too long, `<<`, or already in `entries`
 */
export function checkKey(
  cursor: Cursor,
  { text }: YamlText,
  start: number,
  entries: ReadonlyMap<string, YamlTree>,
): void {
  if (text === "") throw cursor.fault("emptyKey");
  if (text === "<<") throw cursor.fault("mergeKey");
  if (cursor.at - start > MAX_KEY_LENGTH) throw cursor.fault("keyTooLong");
  if (entries.has(text)) throw cursor.fault("secondTime");
}

/** Characters that cannot begin a plain text, and what each one begins instead. */
const INDICATORS: ReadonlyMap<number, RefusedForm> = new Map(
  Object.entries({
    "?": "questionMark",
    ":": "colonFirst",
    ",": "strayBracket",
    "]": "strayBracket",
    "}": "strayBracket",
    "#": "textAfterValue",
    "&": "anchor",
    "*": "alias",
    "!": "tag",
    "%": "directive",
    "@": "atSign",
    "`": "backtick",
    "|": "blockUnderKey",
    ">": "blockUnderKey",
  } satisfies Record<string, RefusedForm>).map(([sign, form]) => [sign.charCodeAt(0), form]),
);

/**
 * Reads the text at the cursor and the spaces after it. The cursor is then at what ended the text: a line's end, a
 * comment, the `:` of a key, or inside brackets one of `, [ ] { }`.
 *
 * @throws YamlFault if no plain text begins here, or if readers differ about what it contains
 */
function readPlain(cursor: Cursor, inFlow: boolean): string {
  refuseIndicator(cursor, inFlow);
  const start = cursor.at;
  let end = start;
  for (;;) {
    const code = cursor.code();
    if (code === SPACE) {
      cursor.at++;
      continue;
    }
    if (code === LINE_FEED || Number.isNaN(code)) break;
    if (code === TAB) throw cursor.fault("tab");
    if (code === HASH && cursor.code(-1) === SPACE) break;
    if (code === COLON) {
      if (cursor.isGap(1)) break;
      if (inFlow && (cursor.code(1) === QUESTION || isFlowIndicator(cursor.code(1)))) {
        throw cursor.fault("colonInFlow");
      }
    }
    if (inFlow && isFlowIndicator(code)) break;
    end = ++cursor.at;
  }
  return cursor.text.slice(start, end);
}

function refuseIndicator(cursor: Cursor, inFlow: boolean): void {
  const code = cursor.code();
  if (code === DASH) {
    if (cursor.isGap(1) || isFlowIndicator(cursor.code(1)))
      throw cursor.fault(inFlow ? "dashInFlow" : "dashAfterKey");
    return;
  }
  const form = INDICATORS.get(code);
  if (form === undefined) return;
  if (inFlow && form === "blockUnderKey") throw cursor.fault("blockInFlow");
  if (inFlow && code === COMMA) throw cursor.fault("emptyEntry");
  throw cursor.fault(form);
}

function isQuote(code: number): boolean {
  return code === SINGLE_QUOTE || code === DOUBLE_QUOTE;
}

/**
 * Reads the quoted text at the cursor, including its closing quote.
 *
 * @throws YamlFault if it does not end on its line, or has an escape that YAML 1.1 and 1.2 do not share
 */
function readQuoted(cursor: Cursor): string {
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
