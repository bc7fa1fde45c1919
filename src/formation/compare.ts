/** Compares a formation with an earlier one. What is newly granted comes first, because a reviewer must see it. */

import { Value } from "@sinclair/typebox/value";
import { childOf, type Edge, FORMATION_FORMAT, Formation } from "./schema.ts";
import {
  childText,
  entriesText,
  type Paint,
  paintFor,
  type Style,
  type TextOptions,
  verdictText,
} from "./words.ts";

/** One edge of both formations, or of only one of them. */
export interface EdgeChange {
  readonly before: Edge | undefined;
  readonly now: Edge | undefined;
}

/** What changed from an earlier formation to a later one. */
export interface FormationChanges {
  /** The two roots, if they differ. */
  readonly root: { readonly before: string; readonly now: string } | undefined;
  /** Granted now, and not before. */
  readonly newlyGranted: readonly EdgeChange[];
  /** Granted before, and not now. */
  readonly noLongerGranted: readonly EdgeChange[];
  /** Granted neither before nor now, with another reason, or only in one of the two. */
  readonly refusedOtherwise: readonly EdgeChange[];
  /** Versions whose bytes have changed. */
  readonly otherBytes: readonly { readonly capsule: string; readonly before: string; readonly now: string }[];
}

/** An earlier formation, or why the text is not one. */
export type EarlierReading =
  | { readonly ok: true; readonly formation: Formation }
  /** What is wrong with the text. It is printed after the file's name. */
  | { readonly ok: false; readonly fault: string };

/** Reads the text of a file that `--format json` wrote. */
export function parseFormation(text: string): EarlierReading {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { ok: false, fault: "is not valid JSON" };
  }
  if (Value.Check(Formation, value)) return { ok: true, formation: value };
  const wanted = `is not a formation printed by --format json (${FORMATION_FORMAT})`;
  const first = Value.Errors(Formation, value).First();
  return { ok: false, fault: first?.path ? `${wanted}: look at ${first.path}` : wanted };
}

/**
 * Compares edges, their reasons, and the artifacts' bytes. Bounds and platform are not compared, because they differ from
 * host to host. Only which edges the depth lets in is seen.
 */
export function compareFormations(before: Formation, now: Formation): FormationChanges {
  const changes = edgeChanges(before.edges, now.edges).filter(({ before: was, now: is }) => !isSame(was, is));
  const granted = (edge: Edge | undefined) => edge?.verdict === "granted";
  return {
    root: before.root === now.root ? undefined : { before: before.root, now: now.root },
    newlyGranted: changes.filter((change) => granted(change.now) && !granted(change.before)),
    noLongerGranted: changes.filter((change) => !granted(change.now) && granted(change.before)),
    refusedOtherwise: changes.filter((change) => !granted(change.now) && !granted(change.before)),
    otherBytes: otherBytes(before, now),
  };
}

/** Whether there is no change at all. */
export function isUnchanged(changes: FormationChanges): boolean {
  const { root, newlyGranted, noLongerGranted, refusedOtherwise, otherBytes } = changes;
  const lists = [newlyGranted, noLongerGranted, refusedOtherwise, otherBytes];
  return root === undefined && lists.every(({ length }) => length === 0);
}

function edgeChanges(before: readonly Edge[], now: readonly Edge[]): EdgeChange[] {
  const key = ({ parent, name, version }: Edge) => JSON.stringify([parent, name, version]);
  const earlier = new Map(before.map((edge) => [key(edge), edge]));
  const later = new Set(now.map(key));
  return [
    ...now.map((edge) => ({ before: earlier.get(key(edge)), now: edge })),
    ...before.filter((edge) => !later.has(key(edge))).map((edge) => ({ before: edge, now: undefined })),
  ];
}

/**
 * Whether the verdict and its reasons are the same. Bytes are compared per capsule, not here. The registry's sentences
 * are not compared, because they contain paths of one host.
 */
function isSame(before: Edge | undefined, now: Edge | undefined): boolean {
  const reasons = (edge: Edge | undefined) =>
    edge && JSON.stringify([edge.verdict, edge.verdict === "refused" ? edge.axes : []]);
  return reasons(before) === reasons(now);
}

function otherBytes(before: Formation, now: Formation): FormationChanges["otherBytes"] {
  const earlier = hashesOf(before);
  return [...hashesOf(now)].flatMap(([capsule, hash]) => {
    const was = earlier.get(capsule);
    return was === undefined || was === hash ? [] : [{ capsule, before: was, now: hash }];
  });
}

function hashesOf({ capsules, edges }: Formation): Map<string, string> {
  const refused = edges.filter((edge) => edge.verdict === "refused");
  return new Map([
    ...capsules.map(({ capsule, sha256 }) => [capsule, sha256] as const),
    ...refused.map((edge) => [childOf(edge), edge.sha256] as const),
  ]);
}

/** What changed, line by line, without line ends. Newly granted edges come first. */
export function* changesText(changes: FormationChanges, options: TextOptions = {}): Generator<string, void> {
  const paint = paintFor(options);
  if (isUnchanged(changes)) yield paint("Nothing changed.");
  yield* section("Newly granted", "granted", changes.newlyGranted, paint);
  yield* section("No longer granted", "refused", changes.noLongerGranted, paint);
  yield* section("Not granted, as before, but otherwise", "missing", changes.refusedOtherwise, paint);
  if (changes.otherBytes.length > 0) yield paint("Other bytes under the same version:", "strong");
  for (const { capsule, before, now } of changes.otherBytes) {
    yield `  ${paint(capsule)}  ${paint(`${before.slice(0, 16)} > ${now.slice(0, 16)}`, "faint")}`;
  }
  const { root } = changes;
  if (root) yield `${paint("Another root:", "strong")} ${paint(`${root.before} > ${root.now}`)}`;
}

function* section(
  title: string,
  style: Style,
  changes: readonly EdgeChange[],
  paint: Paint,
): Generator<string, void> {
  if (changes.length > 0) yield paint(`${title}:`, "strong");
  for (const { before, now } of changes) {
    const edge = now ?? before;
    if (!edge) continue;
    yield `  ${paint(`${edge.parent} > ${childText(edge)}`, style)}`;
    yield `    ${paint("before", "faint")}  ${paint(reasonText(before))}`;
    yield `    ${paint("now", "faint")}     ${paint(reasonText(now))}`;
  }
}

function reasonText(edge: Edge | undefined): string {
  if (!edge) return "not listed, or not reached";
  const verdict = verdictText(edge);
  if (edge.verdict === "unresolved") return `${verdict}: ${edge.error}`;
  if (edge.verdict !== "refused") return verdict;
  return `${verdict}: ${edge.axes.map(({ key, entries }) => `${key} ${entriesText(key, entries)}`).join("; ")}`;
}
