/**
 * Lists and mappings by indentation, and the document that they make: one pass over its lines.
 *
 * What is open stands on a stack, outermost first, so nothing recurses further than dashes follow one another on a line.
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
  /** Line of the last dash while nothing stands behind or below it, else 0. */
  waiting: number;
}
interface OpenMap {
  readonly kind: "map";
  readonly column: number;
  readonly entries: Map<string, YamlTree>;
  /** The last key. */
  key: string;
  /** Line of the last key while nothing stands behind or below it, else 0. */
  waiting: number;
}

/** Where a value begins: on the line of its dash, on the line below its key, or further below. */
type Place = "behind dash" | "under key" | "further";

/** What a line ends with: nothing that is left to read, or a value that may go on over the next lines. */
type Rest = "nothing" | "flow" | "block text";

/** Reads a whole document. The cursor stands at its start. */
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

/** `---`, which may stand above everything but comments. */
function skipStartMarker(cursor: Cursor): void {
  if (cursor.code() !== DASH || !cursor.isGap(3)) throw cursor.fault("secondDocument");
  cursor.at += 3;
  if (!cursor.skipToLineEnd()) throw cursor.fault("textBehindMarker");
  cursor.nextLine();
}

class Blocks {
  readonly #cursor: Cursor;
  readonly #open: Open[] = [];
  #root: YamlTree | undefined;
  /** Whether the last value was a plain text: a deeper line below it would go on with it. */
  #afterPlain = false;

  constructor(cursor: Cursor) {
    this.#cursor = cursor;
  }

  /** What was read so far. */
  get root(): YamlTree {
    return this.#root ?? EMPTY;
  }

  /** Reads a line with text on it, from its first character that is no space. */
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
      // A list may stand at its key's own column: then this is the next key.
      const outer = this.#open.at(-2);
      if (outer?.kind !== "map" || outer.column !== column) throw this.#cursor.fault("listUnaligned");
      this.#open.pop();
      return this.#readPair(outer);
    }
    if (!isDash) return this.#readPair(top);
    if (top.waiting === 0) throw this.#cursor.fault("dashBesideKeys");
    return this.#readNode("further");
  }

  /** Reads what a line ended with, and that line or those that it goes on over, to the start of the next. */
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

  /** What is left open where a line begins at `column`: the list or mapping that it belongs to. */
  #closeDeeperThan(column: number): Open | undefined {
    let top = this.#open.at(-1);
    while (top !== undefined && top.column > column) {
      this.#open.pop();
      top = this.#open.at(-1);
    }
    return top;
  }

  /** A line deeper than the key or dash above it: its value, if that has none yet. */
  #readBelow(top: Open): Rest {
    if (top.waiting === 0) throw this.#misplaced();
    const isNext = top.kind === "map" && top.waiting === this.#cursor.line - 1;
    return this.#readNode(isNext ? "under key" : "further");
  }

  /** A list, a mapping or another value that begins at the cursor. */
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
    if (place === "behind dash" && (code === PIPE || code === GREATER)) return "block text";
    const text = readScalar(cursor, false);
    if (isKey(cursor)) {
      const map: OpenMap = { kind: "map", column, entries: new Map(), key: "", waiting: 0 };
      this.#push(map);
      return this.#readValueOf(map, text, start);
    }
    if (place === "further") throw cursor.fault("textBelow");
    return this.#finishText(text);
  }

  /** A dash, and what stands behind it. */
  #readItem(list: OpenList): Rest {
    const cursor = this.#cursor;
    list.items.push(EMPTY);
    list.waiting = cursor.line;
    cursor.at++;
    if (!cursor.skipToLineEnd()) return this.#readNode("behind dash");
    cursor.nextLine();
    return "nothing";
  }

  /** A key at the cursor, and what stands behind it. */
  #readPair(map: OpenMap): Rest {
    const cursor = this.#cursor;
    if (isOpening(cursor.code())) throw cursor.fault("collectionAsKey");
    const start = cursor.at;
    const key = readScalar(cursor, false);
    if (!isKey(cursor)) throw cursor.fault("keyWithoutColon");
    return this.#readValueOf(map, key, start);
  }

  /** What stands behind a key that was read, from its colon on. `start`: the offset of the key. */
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

  /** Puts a value where the last key or dash waits for one. A list or mapping is filled afterwards. */
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
