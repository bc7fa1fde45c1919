/** A formation in words: a tree of all capsules and refusals, each subtree printed once; then its figures, and what to change. */

import { printable } from "../printable.ts";
import { changeLines } from "./changes.ts";
import { figureLines } from "./figures.ts";
import { startedBy, type Tree, treeOf } from "./graph.ts";
import type { Edge, Formation } from "./schema.ts";
import {
  childText,
  entriesText,
  type Paint,
  paintFor,
  type Style,
  type TextOptions,
  verdictText,
} from "./words.ts";

/** The tree, its figures and what to change, line by line, without line ends. Safe for a terminal. */
export function* formationText(formation: Formation, options: TextOptions = {}): Generator<string, void> {
  const paint = paintFor(options);
  yield* treeLines(formation, paint);
  yield "";
  yield* figureLines(formation, paint);
  if (formation.changes.length === 0) return;
  yield "";
  yield* changeLines(formation.changes, paint);
}

/** One line: what is drawn before its label, and the second column. */
interface Row {
  readonly prefix: string;
  readonly label: string;
  readonly status: string;
  readonly style: Style;
  /** Further lines that belong to it. */
  readonly details: readonly string[];
  /** What is drawn before each of these. */
  readonly under: string;
}

/** The widest first column. After a longer label, the verdict follows after two spaces. */
const WIDEST = 76;

function* treeLines(formation: Formation, paint: Paint): Generator<string, void> {
  const tree = treeOf(formation.capsules, formation.edges);
  let width = 0;
  for (const row of rowsOf(formation, tree)) {
    const length = row.prefix.length + printable(row.label).length;
    if (length <= WIDEST) width = Math.max(width, length);
  }
  for (const { prefix, label, status, style, details, under } of rowsOf(formation, tree)) {
    const gap = " ".repeat(Math.max(2, width + 4 - prefix.length - printable(label).length));
    yield `${paint(prefix, "faint")}${paint(label)}${gap}${paint(status, style)}`;
    for (const detail of details) yield `${paint(under, "faint")}${paint(detail)}`;
  }
}

/** An edge that is still to be drawn, and how deep. */
interface Pending {
  readonly edge: Edge;
  readonly indent: string;
  readonly isLast: boolean;
}

function* rowsOf(formation: Formation, tree: Tree): Generator<Row, void> {
  const [root] = formation.capsules;
  if (!root) return;
  const status = `${root.sha256.slice(0, 16)}${root.cut ? `, ${boundText(formation)}` : ""}`;
  yield { prefix: "", label: root.capsule, status, style: "faint", details: [], under: "" };
  const drawn = new Set([0]);
  const pending = childrenOf(tree, 0, "");
  for (let next = pending.pop(); next; next = pending.pop()) {
    const { edge, indent, isLast } = next;
    const child = startedBy(edge, tree.indexOf);
    const isItsPlace = child !== undefined && tree.placeOf[child] === edge;
    const inner = `${indent}${isLast ? "    " : "│   "}`;
    yield {
      prefix: `${indent}${isLast ? "└── " : "├── "}`,
      label: childText(edge),
      status: statusText(formation, edge, child, isItsPlace, drawn),
      style: styleOf(edge),
      details: detailsOf(edge),
      under: `${inner}  `,
    };
    if (child === undefined || !isItsPlace) continue;
    drawn.add(child);
    for (const one of childrenOf(tree, child, inner)) pending.push(one);
  }
}

/** The edges of a capsule in reverse, so that a stack gives the first one first. */
function childrenOf(tree: Tree, capsule: number, indent: string): Pending[] {
  const edges = tree.edgesOf[capsule] ?? [];
  return edges.map((edge, index) => ({ edge, indent, isLast: index === edges.length - 1 })).reverse();
}

function statusText(
  formation: Formation,
  edge: Edge,
  child: number | undefined,
  isItsPlace: boolean,
  drawn: ReadonlySet<number>,
): string {
  if (edge.verdict !== "granted" || child === undefined) return verdictText(edge);
  const capsule = formation.capsules[child];
  if (capsule?.cut) return `granted, ${boundText(formation)}`;
  if (isItsPlace || capsule?.names === 0) return "granted";
  if (edge.closes_cycle) return "granted, a cycle closes here: see above";
  return drawn.has(child) ? "granted, see above" : "granted, see below";
}

function boundText({ limits }: Formation): string {
  return `the branch ends at --max-depth ${limits.max_depth}`;
}

function styleOf({ verdict }: Edge): Style {
  return verdict === "granted" || verdict === "refused" ? verdict : "missing";
}

function detailsOf(edge: Edge): string[] {
  if (edge.verdict === "unresolved") return [edge.error];
  if (edge.verdict !== "refused") return [];
  const width = Math.max(...edge.axes.map(({ key }) => key.length));
  return edge.axes.map(({ key, entries }) => `${key.padEnd(width)}    ${entriesText(key, entries)}`);
}
