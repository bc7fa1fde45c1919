/** How a capsule's process learns who started it, before anything else is done. */

import { ok, type Result } from "../../result.ts";
import {
  type Environment,
  parseSpawnerHandle,
  type SpawnerHandle,
  type StartRefusal,
} from "../contract/environment.ts";
import { checkFormationEnds, type FormationId, readFormationId } from "../contract/formation.ts";
import { type HeldLifeline, holdLifeline, TEARDOWN_MS } from "../contract/lifeline.ts";

/** What this process was started with: by a spawner, by a formation, or by hand. */
export interface Start {
  /** Its parent, if a parent started it. */
  readonly spawner: SpawnerHandle | undefined;
  readonly lifeline: HeldLifeline | undefined;
  readonly formationId: FormationId | undefined;
}

/** From here on, a child ends when its spawner ends. */
export function readStart(environment: Environment): Result<Start, StartRefusal> {
  const formationId = readFormationId(environment);
  if (!formationId.ok) return formationId;
  const ends = checkFormationEnds(environment, formationId.value);
  if (!ends.ok) return ends;
  const spawner = parseSpawnerHandle(environment.MURMUR_SPAWNER);
  if (!spawner.ok) return spawner;
  const lifeline = holdLifeline(environment);
  if (!lifeline.ok) return lifeline;
  lifeline.value?.exitAfter(TEARDOWN_MS);
  return ok({ formationId: formationId.value, spawner: spawner.value, lifeline: lifeline.value });
}
