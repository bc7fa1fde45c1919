/** A formation in words: the tree, its figures, and what to change. */

import type { Formation } from "../schema.ts";
import { changeLines } from "./changes.ts";
import type { Paint } from "./paint.ts";
import { summaryLines } from "./summary.ts";
import { treeLines } from "./tree.ts";

/** Every line, without its line end. */
export function* formationLines(formation: Formation, paint: Paint): Generator<string, void> {
  yield* treeLines(formation, paint);
  yield "";
  yield* summaryLines(formation, paint);
  if (formation.changes.length === 0) return;
  yield "";
  yield* changeLines(formation, paint);
}
