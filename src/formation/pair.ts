/** One pair of capsules on all twelve axes, and as a table: why a spawn is refused, or would be. */

import { printable } from "../printable.ts";
import { AXES, type Axis } from "../referee/axes.ts";
import { Artifacts, type ArtifactsOptions, type ReadArtifact } from "./artifacts.ts";
import { Judge } from "./judge.ts";
import { entriesText, type Paint, paintFor, type TextOptions } from "./words.ts";

/** Which two to compare, each as `<scope>/<name>@<version>`. */
export interface PairRequest extends ArtifactsOptions {
  readonly parent: string;
  readonly child: string;
}

/** Two capsules compared, and what the daemon would say about the second as a child of the first. */
export interface Pair {
  readonly parent: { readonly capsule: string; readonly sha256: string };
  readonly child: { readonly capsule: string; readonly sha256: string };
  /** Whether the parent's `capabilities.spawn.allow` names the child; the daemon checks that first. */
  readonly listed: boolean;
  /** All twelve, in the order the daemon checks. */
  readonly axes: readonly AxisComparison[];
  /** The daemon's sentence for the first axis exceeded, if any is. */
  readonly error: string | undefined;
}

/** One axis, and what each side declares on it. */
export interface AxisComparison {
  /** The manifest key, `capabilities.network.allow`. */
  readonly key: string;
  /** How it is written in a manifest. */
  readonly kind: Axis["kind"];
  /** What each declares, in its order. An empty text means no scope. */
  readonly parent: readonly string[];
  readonly child: readonly string[];
  /** The child's declarations that its parent does not cover. */
  readonly offending: readonly string[];
}

/** The pair, or why it could not be compared. */
export type PairReading =
  | { readonly ok: true; readonly pair: Pair }
  /** One of the two cannot be read: one sentence. */
  | { readonly ok: false; readonly fault: string };

/** Compares two capsules of the registry, whether the parent lists the child or not. */
export async function inspectPair(request: PairRequest): Promise<PairReading> {
  const artifacts = new Artifacts(request);
  const parent = await artifacts.find(request.parent);
  if (!parent.ok) return parent;
  const child = await artifacts.find(request.child);
  if (!child.ok) return child;
  return { ok: true, pair: pairOf(parent.artifact, child.artifact) };
}

function pairOf(parent: ReadArtifact, child: ReadArtifact): Pair {
  const exceeded = new Judge().exceeded(parent.held, child.held);
  return {
    parent: { capsule: parent.capsule, sha256: parent.sha256 },
    child: { capsule: child.capsule, sha256: child.sha256 },
    listed: parent.held.spawnAllow.index.has(nameOf(child.capsule)),
    axes: AXES.map((axis) => ({
      key: axis.key,
      kind: axis.kind,
      parent: axis.declares(parent.held),
      child: axis.declares(child.held),
      offending: exceeded.find((found) => found.axis === axis)?.entries ?? [],
    })),
    error: exceeded[0]?.error,
  };
}

function nameOf(capsule: string): string {
  return capsule.slice(0, capsule.indexOf("@"));
}

/** One pair as a table of the twelve axes, line by line, without line ends. */
export function* pairText(pair: Pair, options: TextOptions = {}): Generator<string, void> {
  const paint = paintFor(options);
  yield paint(`parent  ${pair.parent.capsule}  ${pair.parent.sha256.slice(0, 16)}`);
  yield paint(`child   ${pair.child.capsule}  ${pair.child.sha256.slice(0, 16)}`);
  yield "";
  yield* tableLines(pair, paint);
  yield "";
  yield* verdictLines(pair, paint);
}

type Row = readonly [axis: string, parent: string, child: string, verdict: string];

const HEADS: Row = ["axis", "parent declares", "child declares", "verdict"];
const WITHIN = "within";
const EXCEEDS = "exceeds";

function* tableLines({ axes }: Pair, paint: Paint): Generator<string, void> {
  const rows = axes.flatMap(rowsOf);
  const widths = HEADS.map((head, column) =>
    rows.reduce((widest, row) => Math.max(widest, (row[column] ?? "").length), head.length),
  );
  const line = (row: Row) => {
    const cells = row.map((cell, column) => cell.padEnd(widths[column] ?? 0));
    return cells.join("  ").trimEnd();
  };
  yield paint(line(HEADS), "strong");
  for (const row of rows) yield paint(line(row), row[3] === EXCEEDS ? "refused" : undefined);
}

/** One row for each entry, with the verdict next to the child's. */
function rowsOf({ key, parent, child, offending }: AxisComparison): Row[] {
  const exceeding = new Set(offending);
  const lines = Math.max(1, parent.length, child.length);
  return Array.from({ length: lines }, (_, line) => {
    const first = (text: string) => (line === 0 ? text : "");
    const cell = (entry?: string) =>
      entry === undefined ? first("none") : printable(entriesText(key, [entry]));
    const verdict = (entry?: string) => {
      if (entry === undefined) return first(WITHIN);
      return exceeding.has(entry) ? EXCEEDS : WITHIN;
    };
    return [first(key), cell(parent[line]), cell(child[line]), verdict(child[line])];
  });
}

function* verdictLines({ parent, child, listed, error }: Pair, paint: Paint): Generator<string, void> {
  if (!listed) {
    const missing = `capabilities.spawn.allow of ${parent.capsule} does not list ${nameOf(child.capsule)}`;
    yield paint(`refused: ${missing}; that is asked first`, "refused");
  }
  if (error !== undefined) yield paint(`refused: ${error}`, "refused");
  if (listed && error === undefined) yield paint("granted", "granted");
}
