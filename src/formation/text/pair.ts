/** One pair as a table: what each side declares on each axis, and the verdict. */

import { printable } from "../../printable.ts";
import type { AxisComparison } from "../judge.ts";
import type { Pair } from "../pair.ts";
import { entriesText, type Paint } from "./paint.ts";

type Row = readonly [axis: string, parent: string, child: string, verdict: string];

const HEADS: Row = ["axis", "parent declares", "child declares", "verdict"];

export function* pairLines(pair: Pair, paint: Paint): Generator<string, void> {
  yield paint(undefined, `parent  ${pair.parent.capsule}  ${pair.parent.sha256.slice(0, 16)}`);
  yield paint(undefined, `child   ${pair.child.capsule}  ${pair.child.sha256.slice(0, 16)}`);
  yield "";
  const rows = pair.axes.flatMap(rowsOf);
  const widths = HEADS.map((head, column) =>
    rows.reduce((widest, row) => Math.max(widest, (row[column] ?? "").length), head.length),
  );
  const line = (row: Row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join("  ")
      .trimEnd();
  yield paint("strong", line(HEADS));
  for (const row of rows) yield paint(row[3] === EXCEEDS ? "refused" : undefined, line(row));
  yield "";
  yield* verdictLines(pair, paint);
}

const WITHIN = "within";
const EXCEEDS = "exceeds";

/** One row for each entry, with the verdict next to the child's. */
function rowsOf({ key, kind, parent, child, offending }: AxisComparison): Row[] {
  const exceeding = new Set(offending);
  const cell = (entries: readonly string[], line: number) => {
    const entry = entries[line];
    if (entry === undefined) return line === 0 ? "none" : "";
    return printable(entriesText(kind, [entry]));
  };
  const verdict = (line: number) => {
    const entry = child[line];
    if (entry === undefined) return line === 0 ? WITHIN : "";
    return exceeding.has(entry) ? EXCEEDS : WITHIN;
  };
  const lines = Math.max(1, parent.length, child.length);
  return Array.from({ length: lines }, (_, line) => [
    line === 0 ? key : "",
    cell(parent, line),
    cell(child, line),
    verdict(line),
  ]);
}

function* verdictLines({ parent, child, listed, error }: Pair, paint: Paint): Generator<string, void> {
  const name = child.capsule.slice(0, child.capsule.indexOf("@"));
  if (!listed) {
    yield paint(
      "refused",
      `refused: capabilities.spawn.allow of ${parent.capsule} does not list ${name}; that is asked first`,
    );
  }
  if (error !== undefined) yield paint("refused", `refused: ${error}`);
  if (listed && error === undefined) yield paint("granted", "granted");
}
