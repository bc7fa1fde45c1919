/** Blocks of text: `|` keeps line breaks, `>` turns them into spaces. */

import { DASH, GREATER, LINE_FEED, PLUS, SPACE, TAB } from "./characters.ts";
import type { Cursor } from "./cursor.ts";
import { refused } from "./fault.ts";
import type { YamlText } from "./tree.ts";

/** Lines read between two pauses. */
const LINES_A_STEP = 64;

/**
 * Reads the block whose `|` or `>` is at the cursor, and leaves the cursor at the start of the line after it.
 *
 * @param outer column of the list or mapping that it belongs to; the block's lines are deeper
 * @throws YamlFault if readers differ about its header, its indentation or its end
 */
export function* readBlockText(cursor: Cursor, outer: number): Generator<void, YamlText> {
  const startLine = cursor.line;
  const folded = cursor.code() === GREATER;
  cursor.at++;
  const chomping = cursor.code();
  if (chomping === DASH || chomping === PLUS) cursor.at++;
  if (cursor.code() >= 0x30 && cursor.code() <= 0x39) throw cursor.fault("blockIndicator");
  cursor.finishLine();

  const { lines, trailing } = yield* readLines(cursor, outer);
  // The file ends without a line break: readers differ about the block's text then.
  if (cursor.atEnd && !cursor.text.endsWith("\n")) throw refused("blockUnfinished", startLine);

  let text = folded ? yield* fold(lines) : lines.join("\n");
  if (lines.length > 0 && chomping !== DASH) text += "\n";
  if (chomping === PLUS) text += "\n".repeat(trailing);
  return { kind: "text", text, plain: false };
}

interface BlockLines {
  /** Without indentation. Empty lines are `""`, and those after the last text are left out. */
  readonly lines: readonly string[];
  /** How many empty lines follow the last text. */
  readonly trailing: number;
}

/** The lines that are deeper than `outer`. The first line with text sets the block's depth. */
function* readLines(cursor: Cursor, outer: number): Generator<void, BlockLines> {
  const lines: string[] = [];
  let depth = 0;
  let deepestEmpty = 0;
  let empty = 0;
  for (let count = 1; !cursor.atEnd; count++) {
    if (count % LINES_A_STEP === 0) yield;
    let column = 0;
    while (cursor.code(column) === SPACE && (depth === 0 || column < depth)) column++;
    const code = cursor.code(column);
    if (code === LINE_FEED || Number.isNaN(code)) {
      empty++;
      deepestEmpty = Math.max(deepestEmpty, column);
      cursor.at += column;
      cursor.nextLine();
      continue;
    }
    if (code === TAB && (depth === 0 || column < depth)) throw cursor.fault("tabInBlock");
    if (depth === 0 && column > outer) {
      // One reader takes the depth from the empty line, another from the text.
      if (deepestEmpty > column) throw cursor.fault("blankLineTooDeep");
      depth = column;
    }
    if (depth === 0 || column < depth) break;
    for (; empty > 0; empty--) lines.push("");
    lines.push(readLine(cursor, column));
  }
  return { lines, trailing: empty };
}

function readLine(cursor: Cursor, indentation: number): string {
  const start = cursor.at + indentation;
  const end = cursor.text.indexOf("\n", start);
  cursor.at = end === -1 ? cursor.text.length : end;
  const line = cursor.text.slice(start, cursor.at);
  cursor.nextLine();
  return line;
}

/** Joins lines by spaces. An empty line becomes a line break, and lines that begin with white space keep their breaks. */
function* fold(lines: readonly string[]): Generator<void, string> {
  let text = "";
  let previous: string | undefined;
  let empty = 0;
  for (const [index, line] of lines.entries()) {
    if (index % LINES_A_STEP === LINES_A_STEP - 1) yield;
    if (line === "") {
      empty++;
      continue;
    }
    const keepsBreak = previous !== undefined && (isSpaced(previous) || isSpaced(line));
    if (previous !== undefined && empty === 0 && !keepsBreak) text += " ";
    text += "\n".repeat(keepsBreak ? empty + 1 : empty) + line;
    previous = line;
    empty = 0;
  }
  return text;
}

function isSpaced(line: string): boolean {
  return line.startsWith(" ") || line.startsWith("\t");
}
