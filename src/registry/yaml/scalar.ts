/** One text of one line, and whether it is a key. */

import { COLON } from "./characters.ts";
import type { Cursor } from "./cursor.ts";
import { MAX_KEY_LENGTH } from "./fault.ts";
import { readPlain } from "./plain.ts";
import { isQuote, readQuoted } from "./quoted.ts";
import type { YamlText, YamlTree } from "./tree.ts";

/** Reads a plain or quoted text, and the spaces behind it. */
export function readScalar(cursor: Cursor, inFlow: boolean): YamlText {
  const plain = !isQuote(cursor.code());
  const text = plain ? readPlain(cursor, inFlow) : readQuoted(cursor);
  cursor.skipSpaces();
  return { kind: "text", text, plain };
}

/** Whether the text that was just read is a key: a `:` with a gap behind it stands here. */
export function isKey(cursor: Cursor): boolean {
  return cursor.code() === COLON && cursor.isGap(1);
}

/**
 * Checks a key whose `:` stands at the cursor. `start`: the offset of its first character.
 *
 * @throws YamlFault where it is empty, too long, `<<`, or already among `entries`
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
