/** Compares a formation with an earlier one. What is newly granted comes first, because a reviewer must see it. */

import { Value } from "@sinclair/typebox/value";
import { type Edge, FORMATION_FORMAT, Formation } from "./schema.ts";

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
 * Compares edges, their reasons, and the artifacts' bytes. Bounds and platform are not compared, only their effect,
 * because the machine ceiling differs from host to host.
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
  const later = new Map(now.map((edge) => [key(edge), edge]));
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
    ...refused.map(({ name, version, sha256 }) => [`${name}@${version}`, sha256] as const),
  ]);
}
