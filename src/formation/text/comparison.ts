/** What changed, for a reviewer: newly granted edges first. */

import { type EdgeChange, type FormationChanges, isUnchanged } from "../compare.ts";
import { childOf, type Edge } from "../schema.ts";
import { kindOf } from "./kinds.ts";
import { entriesText, entryText, type Paint, type Style } from "./paint.ts";
import { verdictText } from "./tree.ts";

export function* comparisonLines(changes: FormationChanges, paint: Paint): Generator<string, void> {
  if (isUnchanged(changes)) {
    yield paint(undefined, "Nothing changed.");
    return;
  }
  yield* section("Newly granted", "granted", changes.newlyGranted, paint);
  yield* section("No longer granted", "refused", changes.noLongerGranted, paint);
  yield* section("Not granted, as before, but otherwise", "missing", changes.refusedOtherwise, paint);
  if (changes.otherBytes.length > 0) yield paint("strong", "Other bytes under the same version:");
  for (const { capsule, before, now } of changes.otherBytes) {
    yield `  ${paint(undefined, capsule)}  ${paint("faint", `${before.slice(0, 16)} > ${now.slice(0, 16)}`)}`;
  }
  if (changes.root) {
    yield `${paint("strong", "Another root:")} ${paint(undefined, `${changes.root.before} > ${changes.root.now}`)}`;
  }
}

function* section(
  title: string,
  style: Style,
  changes: readonly EdgeChange[],
  paint: Paint,
): Generator<string, void> {
  if (changes.length === 0) return;
  yield paint("strong", `${title}:`);
  for (const { before, now } of changes) {
    const edge = now ?? before;
    if (!edge) continue;
    const child = edge.version === null ? entryText(edge.name) : childOf(edge);
    yield `  ${paint(style, `${edge.parent} > ${child}`)}`;
    yield `    ${paint("faint", "before")}  ${paint(undefined, reasonText(before))}`;
    yield `    ${paint("faint", "now")}     ${paint(undefined, reasonText(now))}`;
  }
}

function reasonText(edge: Edge | undefined): string {
  if (!edge) return "not listed, or not reached";
  if (edge.verdict === "unresolved") return `${verdictText(edge)}: ${edge.error}`;
  if (edge.verdict !== "refused") return verdictText(edge);
  return `refused: ${edge.axes.map(({ key, entries }) => `${key} ${entriesText(kindOf(key), entries)}`).join("; ")}`;
}
