/** Reads a text on one line, and tells whether it is a key. */

import { COLON } from "./characters.ts";
import type { Cursor } from "./cursor.ts";
import { MAX_KEY_LENGTH } from "./fault.ts";
import { readPlain } from "./plain.ts";
import { isQuote, readQuoted } from "./quoted.ts";
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
