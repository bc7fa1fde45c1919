/** Lists and mappings in brackets, on one line or over several. */

import { COLON, COMMA, isClosing, isOpening, LIST_CLOSE, LIST_OPEN, MAP_CLOSE } from "./characters.ts";
import type { Cursor } from "./cursor.ts";
import { refused } from "./fault.ts";
import { checkKey, isKey, readScalar } from "./scalar.ts";
import { EMPTY, MAX_NESTING, type YamlTree } from "./tree.ts";

/** Entries read between two pauses. */
const ENTRIES_A_STEP = 64;

/** A bracket that is not closed yet. */
type Open = OpenList | OpenMap;
interface OpenList {
  readonly kind: "list";
  readonly line: number;
  readonly items: YamlTree[];
  /** Whether a comma or the closing bracket must come next. */
  filled: boolean;
}
interface OpenMap {
  readonly kind: "map";
  readonly line: number;
  readonly entries: Map<string, YamlTree>;
  filled: boolean;
}

/**
 * Reads from the opening bracket at the cursor up to and including the closing one.
 *
 * @param outer column of the list or mapping that it belongs to, -1 for none
 * @param depth how many lists and mappings enclose it
 */
export function* readFlow(cursor: Cursor, outer: number, depth: number): Generator<void, YamlTree> {
  const root = open(cursor, depth);
  const stack: Open[] = [root];
  for (let count = 1; ; count++) {
    if (count % ENTRIES_A_STEP === 0) yield;
    const top = stack.at(-1);
    if (top === undefined) return root;
    skipToContent(cursor, stack, outer);
    if (cursor.code() === (top.kind === "list" ? LIST_CLOSE : MAP_CLOSE)) {
      cursor.at++;
      stack.pop();
    } else if (top.filled) {
      if (cursor.code() !== COMMA) throw cursor.fault("commaMissing");
      cursor.at++;
      top.filled = false;
    } else {
      const key = top.kind === "map" ? readKey(cursor, top) : undefined;
      if (key !== undefined) skipToContent(cursor, stack, outer);
      top.filled = true;
      const inner = isOpening(cursor.code()) ? open(cursor, depth + stack.length) : undefined;
      const value = inner ?? readValue(cursor, key);
      if (top.kind === "list") top.items.push(value);
      else if (key !== undefined) top.entries.set(key, value);
      if (inner) stack.push(inner);
    }
  }
}

function open(cursor: Cursor, depth: number): Open {
  if (depth >= MAX_NESTING) throw cursor.fault("nesting");
  const isList = cursor.code() === LIST_OPEN;
  cursor.at++;
  const common = { line: cursor.line, filled: false };
  return isList ? { kind: "list", items: [], ...common } : { kind: "map", entries: new Map(), ...common };
}

/** Reads a key and its colon. In quotes, as in JSON, the value may touch the colon. */
function readKey(cursor: Cursor, { entries }: OpenMap): string {
  if (isOpening(cursor.code())) throw cursor.fault("collectionAsKey");
  const start = cursor.at;
  const key = readScalar(cursor, true);
  const touches =
    !key.plain && cursor.code() === COLON && !isClosing(cursor.code(1)) && cursor.code(1) !== COMMA;
  if (!touches && !isKey(cursor)) throw cursor.fault("keyWithoutColon");
  checkKey(cursor, key, start, entries);
  cursor.at++;
  return key.text;
}

/** Reads the value of a key, which may be empty, or an entry of a list (`key` is `undefined`), which may not. */
function readValue(cursor: Cursor, key: string | undefined): YamlTree {
  if (key !== undefined && (cursor.code() === COMMA || cursor.code() === MAP_CLOSE)) return EMPTY;
  const text = readScalar(cursor, true);
  if (cursor.code() === COLON) throw cursor.fault(key === undefined ? "pairInList" : "colonInText");
  return text;
}

/** Skips spaces, comments and line breaks. Lines must be deeper than `outer`, except for the very last bracket. */
function skipToContent(cursor: Cursor, stack: readonly Open[], outer: number): void {
  const startLine = cursor.line;
  while (cursor.skipToLineEnd()) {
    if (cursor.atEnd) throw refused("notClosed", stack.at(-1)?.line ?? startLine);
    cursor.nextLine();
    if (cursor.atMarker) throw cursor.fault("secondDocument");
  }
  if (cursor.line === startLine) return;
  const mayEndHere = stack.length === 1 && isClosing(cursor.code());
  if (cursor.column < (mayEndHere ? outer : outer + 1)) throw cursor.fault("shallowFlow");
}
