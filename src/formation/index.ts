/**
 * `mur-roost/formation`: what a whole formation would be granted, before anything runs.
 *
 * `inspectFormation` follows a capsule's `capabilities.spawn.allow` through a registry, `inspectPair` compares two
 * capsules, and `compareFormations` says what changed. Verdicts come from the same code that the daemon judges with.
 * Nothing here starts anything, asks a daemon or writes files.
 */

export type { ArtifactsOptions } from "./artifacts.ts";
export {
  changesText,
  compareFormations,
  type EarlierReading,
  type EdgeChange,
  type FormationChanges,
  isUnchanged,
  parseFormation,
} from "./compare.ts";
export { isWhollyGranted } from "./figures.ts";
export {
  type AxisComparison,
  inspectPair,
  type Pair,
  type PairReading,
  type PairRequest,
  pairText,
} from "./pair.ts";
export { renderDot, renderMermaid } from "./pictures.ts";
export type { Capsule, Change, Edge, Edit, ExceededAxis, Summary } from "./schema.ts";
export { FORMATION_FORMAT, Formation } from "./schema.ts";
export { type FormationReading, type FormationRequest, inspectFormation } from "./survey.ts";
export { formationText } from "./tree.ts";
export type { TextOptions } from "./words.ts";
