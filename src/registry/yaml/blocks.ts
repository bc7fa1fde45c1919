/**
 * Reads lists and mappings by indentation, and so the whole document, in one pass over its lines.
 *
 * Open lists and mappings are on a stack, outermost first. The only recursion is for dashes that follow each other on one
 * line.
 */

import { readBlockText } from "./block-text.ts";
import { COLON, DASH, GREATER, isOpening, PIPE } from "./characters.ts";
import type { Cursor } from "./cursor.ts";
import type { YamlFault } from "./fault.ts";
import { readFlow } from "./flow.ts";
import { checkKey, isKey, readScalar } from "./scalar.ts";
import { EMPTY, MAX_NESTING, type YamlText, type YamlTree } from "./tree.ts";

/** Lines read between two pauses. */
const LINES_A_STEP = 32;

/** A list or mapping that more lines may belong to. */
type Open = OpenList | OpenMap;
interface OpenList {
  readonly kind: "list";
  readonly column: number;
  readonly items: YamlTree[];
  /** Line of the last dash until its value is found, then 0. */
  waiting: number;
}
interface OpenMap {
  readonly kind: "map";
  readonly column: number;
  readonly entries: Map<string, YamlTree>;
  /** The last key. */
  key: string;
  /** Line of the last key until its value is found, then 0. */
  waiting: number;
}

/** Where a value begins: after its dash, on the line below its key, or further below. */
type Place = "after dash" | "under key" | "further";

/** What is left to read at the end of a line: nothing, or a value that may continue on the next lines. */
type Rest = "nothing" | "flow" | "block text";

/** Reads a whole document. The cursor is at its start. */
export function* readDocument(cursor: Cursor): Generator<void, YamlTree> {
  const blocks = new Blocks(cursor);
  let begun = false;
  for (let count = 1; !cursor.atEnd; count++) {
    if (count % LINES_A_STEP === 0) yield;
    if (cursor.atMarker) {
      if (begun) throw cursor.fault("secondDocument");
      skipStartMarker(cursor);
    } else if (cursor.skipToLineEnd()) {
      cursor.nextLine();
      continue;
    } else {
      const rest = blocks.readLine();
      if (rest !== "nothing") yield* blocks.readRest(rest);
    }
    begun = true;
  }
  return blocks.root;
}

/** Skips `---`, before which only comments may come. */
function skipStartMarker(cursor: Cursor): void {
  if (cursor.code() !== DASH || !cursor.isGap(3)) throw cursor.fault("secondDocument");
  cursor.at += 3;
  if (!cursor.skipToLineEnd()) throw cursor.fault("textAfterMarker");
  cursor.nextLine();
}

class Blocks {
  readonly #cursor: Cursor;
  readonly #open: Open[] = [];
  #root: YamlTree | undefined;
  /** Whether the last value was a plain text, which a deeper line below would continue. */
  #afterPlain = false;

  constructor(cursor: Cursor) {
    this.#cursor = cursor;
  }

  /** What was read so far. */
  get root(): YamlTree {
    return this.#root ?? EMPTY;
  }

  /** Reads a line with text, from its first character that is not a space. */
  readLine(): Rest {
    const { column } = this.#cursor;
    const top = this.#closeDeeperThan(column);
    if (top === undefined) {
      if (this.#root !== undefined) throw this.#misplaced();
      return this.#readNode("under key");
    }
    if (column > top.column) return this.#readBelow(top);
    const isDash = this.#atDash;
    if (top.kind === "list") {
      if (isDash) return this.#readItem(top);
      // A list may be in the same column as its key. Then this line is the next key.
      const outer = this.#open.at(-2);
      if (outer?.kind !== "map" || outer.column !== column) throw this.#cursor.fault("listUnaligned");
      this.#open.pop();
      return this.#readPair(outer);
    }
    if (!isDash) return this.#readPair(top);
    if (top.waiting === 0) throw this.#cursor.fault("dashBesideKeys");
    return this.#readNode("further");
  }

  /** Reads the rest of a value, over more lines if it has them, up to the start of the next line. */
  *readRest(rest: "flow" | "block text"): Generator<void, void> {
    const cursor = this.#cursor;
    const outer = this.#open.at(-1)?.column ?? -1;
    if (rest === "block text") {
      this.#attach(yield* readBlockText(cursor, outer));
      return;
    }
    this.#attach(yield* readFlow(cursor, outer, this.#open.length));
    if (cursor.code() === COLON) throw cursor.fault("collectionAsKey");
    cursor.finishLine();
  }

  /** Closes what is deeper than `column`, and returns the list or mapping that a line there belongs to. */
  #closeDeeperThan(column: number): Open | undefined {
    let top = this.#open.at(-1);
    while (top !== undefined && top.column > column) {
      this.#open.pop();
      top = this.#open.at(-1);
    }
    return top;
  }

  /** Reads a line deeper than the key or dash above it: the value of that, if it has none yet. */
  #readBelow(top: Open): Rest {
    if (top.waiting === 0) throw this.#misplaced();
    const isNext = top.kind === "map" && top.waiting === this.#cursor.line - 1;
    return this.#readNode(isNext ? "under key" : "further");
  }

  /** Reads a list, a mapping or another value that begins at the cursor. */
  #readNode(place: Place): Rest {
    const cursor = this.#cursor;
    const { column, at: start } = cursor;
    if (this.#atDash) {
      const list: OpenList = { kind: "list", column, items: [], waiting: 0 };
      this.#push(list);
      return this.#readItem(list);
    }
    const code = cursor.code();
    if (isOpening(code)) {
      if (place === "further") throw cursor.fault("textBelow");
      return "flow";
    }
    if (place === "after dash" && (code === PIPE || code === GREATER)) return "block text";
    const text = readScalar(cursor, false);
    if (isKey(cursor)) {
      const map: OpenMap = { kind: "map", column, entries: new Map(), key: "", waiting: 0 };
      this.#push(map);
      return this.#readValueOf(map, text, start);
    }
    if (place === "further") throw cursor.fault("textBelow");
    return this.#finishText(text);
  }

  /** Reads a dash, and what follows it on the line. */
  #readItem(list: OpenList): Rest {
    const cursor = this.#cursor;
    list.items.push(EMPTY);
    list.waiting = cursor.line;
    cursor.at++;
    if (!cursor.skipToLineEnd()) return this.#readNode("after dash");
    cursor.nextLine();
    return "nothing";
  }

  /** Reads a key at the cursor, and what follows it on the line. */
  #readPair(map: OpenMap): Rest {
    const cursor = this.#cursor;
    if (isOpening(cursor.code())) throw cursor.fault("collectionAsKey");
    const start = cursor.at;
    const key = readScalar(cursor, false);
    if (!isKey(cursor)) throw cursor.fault("keyWithoutColon");
    return this.#readValueOf(map, key, start);
  }

  /** Reads what follows a key, from its colon on. `start`: the offset of the key. */
  #readValueOf(map: OpenMap, key: YamlText, start: number): Rest {
    const cursor = this.#cursor;
    checkKey(cursor, key, start, map.entries);
    map.entries.set(key.text, EMPTY);
    map.key = key.text;
    map.waiting = cursor.line;
    cursor.at++;
    if (cursor.skipToLineEnd()) {
      cursor.nextLine();
      return "nothing";
    }
    const code = cursor.code();
    if (isOpening(code)) return "flow";
    if (code === PIPE || code === GREATER) return "block text";
    const text = readScalar(cursor, false);
    if (isKey(cursor)) throw cursor.fault("colonInText");
    return this.#finishText(text);
  }

  #finishText(text: YamlText): Rest {
    this.#attach(text);
    this.#cursor.finishLine();
    return "nothing";
  }

  #push(inner: Open): void {
    if (this.#open.length >= MAX_NESTING) throw this.#cursor.fault("nesting");
    this.#attach(inner);
    this.#open.push(inner);
  }

  /** Gives a value to the last key or dash. A list or mapping is filled afterwards. */
  #attach(value: YamlTree): void {
    const top = this.#open.at(-1);
    this.#afterPlain = value.kind === "text" && value.plain;
    if (top === undefined) {
      this.#root = value;
      return;
    }
    top.waiting = 0;
    if (top.kind === "map") top.entries.set(top.key, value);
    else top.items[top.items.length - 1] = value;
  }

  get #atDash(): boolean {
    return this.#cursor.code() === DASH && this.#cursor.isGap(1);
  }

  /** The fault of a line where nothing can begin. */
  #misplaced(): YamlFault {
    return this.#cursor.fault(this.#afterPlain ? "textOverLines" : "deeper");
  }
}
