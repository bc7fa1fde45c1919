/**
 * `mur-roost/formation`: what a whole formation would be granted, before anything runs.
 *
 * `inspectFormation` follows a capsule's `capabilities.spawn.allow` through a registry, `inspectPair` compares two
 * capsules, and `compareFormations` says what changed. Verdicts come from the same code that the daemon judges with.
 * Nothing here starts anything, asks a daemon or writes files.
 */

import type { FormationChanges } from "./compare.ts";
import type { Pair } from "./pair.ts";
import type { Formation } from "./schema.ts";
import { comparisonLines } from "./text/comparison.ts";
import { formationLines } from "./text/index.ts";
import { coloured, plain } from "./text/paint.ts";
import { pairLines } from "./text/pair.ts";

export type { ArtifactsOptions } from "./artifacts.ts";
export {
  compareFormations,
  type EarlierReading,
  type EdgeChange,
  type FormationChanges,
  isUnchanged,
  parseFormation,
} from "./compare.ts";
export { renderDot } from "./dot.ts";
export type { AxisComparison } from "./judge.ts";
export { renderMermaid } from "./mermaid.ts";
export { inspectPair, type Pair, type PairReading, type PairRequest } from "./pair.ts";
export type { Capsule, Change, Edge, Edit, ExceededAxis, Summary } from "./schema.ts";
export { FORMATION_FORMAT, Formation } from "./schema.ts";
export { type FormationReading, type FormationRequest, inspectFormation } from "./survey.ts";

/** Whether everything that is listed can be granted: no pair is refused, and nothing is missing. */
export function isWhollyGranted({ summary }: Formation): boolean {
  const { refused, unresolved, absent, refused_by_bound } = summary;
  return refused + unresolved + absent === 0 && refused_by_bound === null;
}

/** How text is written: with colour for a terminal, or without. */
export interface TextOptions {
  readonly colour?: boolean;
}

/** The tree, its figures and what to change, line by line, without line ends. Safe for a terminal. */
export function formationText(formation: Formation, { colour }: TextOptions = {}): Generator<string, void> {
  return formationLines(formation, colour ? coloured : plain);
}

/** What changed, line by line, without line ends. */
export function changesText(
  changes: FormationChanges,
  { colour }: TextOptions = {},
): Generator<string, void> {
  return comparisonLines(changes, colour ? coloured : plain);
}

/** One pair as a table of the twelve axes, line by line, without line ends. */
export function pairText(pair: Pair, { colour }: TextOptions = {}): Generator<string, void> {
  return pairLines(pair, colour ? coloured : plain);
}
