/**
 * Inspects a whole formation from one capsule down: which capsules each could start, by the same code that the daemon
 * judges with. Nothing runs and no daemon is asked, because a verdict depends on two artifacts alone.
 */

import { availableParallelism } from "node:os";
import { DEFAULT_LIMITS, defaultCeiling, type Limits } from "../referee/bounds.ts";
import type { Envelope } from "../referee/envelope.ts";
import { type Coordinates, parseArtifactName } from "../registry/artifact-name.ts";
import { Artifacts, type ArtifactsOptions, type ReadArtifact } from "./artifacts.ts";
import { changesOfAbsence, changesOfRefusal } from "./changes.ts";
import { summarise } from "./figures.ts";
import { markClosedCycles, treeOf } from "./graph.ts";
import { Judge } from "./judge.ts";
import {
  type Capsule,
  type Change,
  type Edge,
  FORMATION_FORMAT,
  type Formation,
  type UnresolvedEdge,
} from "./schema.ts";

/** What to look at. */
export interface FormationRequest extends ArtifactsOptions {
  /** `<scope>/<name>@<version>`, as `--spawn-allow` would admit it. */
  readonly root: string;
  /** The daemon's bounds. Absent ones get the daemon's default on this host. */
  readonly limits?: Partial<Limits>;
}

/** The formation, or why it cannot be inspected. */
export type FormationReading =
  | { readonly ok: true; readonly formation: Formation }
  /** The root cannot be read: one sentence. */
  | { readonly ok: false; readonly fault: string };

/** What was found so far. */
interface Survey {
  readonly judge: Judge;
  readonly capsules: Capsule[];
  readonly edges: Edge[];
  readonly changes: Change[];
}

/**
 * Follows `capabilities.spawn.allow` from the root through the registry, in every version there is, down to the depth
 * bound. Each artifact is read once. A refused child cannot run, so what it lists is not followed.
 */
export async function inspectFormation(request: FormationRequest): Promise<FormationReading> {
  const limits = {
    ...DEFAULT_LIMITS,
    maxLiveCapsules: defaultCeiling(availableParallelism()),
    ...request.limits,
  };
  const artifacts = new Artifacts(request);
  const root = await artifacts.find(request.root);
  if (!root.ok) return root;
  const { capsules, edges, changes } = await follow(artifacts, root.artifact, limits.maxDepth);
  const tree = treeOf(capsules, edges);
  markClosedCycles(tree);
  const formation: Formation = {
    format: FORMATION_FORMAT,
    root: root.artifact.capsule,
    platform: artifacts.platform,
    limits: {
      max_depth: limits.maxDepth,
      max_concurrent: limits.maxConcurrent,
      max_live_capsules: limits.maxLiveCapsules,
    },
    capsules,
    edges,
    summary: summarise(capsules, edges, tree, limits),
    changes,
  };
  return { ok: true, formation };
}

async function follow(artifacts: Artifacts, root: ReadArtifact, maxDepth: number): Promise<Survey> {
  const survey: Survey = { judge: new Judge(), capsules: [], edges: [], changes: [] };
  const known = new Set([root.capsule]);
  let level = [root];
  for (let depth = 0; level.length > 0; depth++) {
    for (const { capsule, sha256, held } of level) {
      const names = namesOf(held).length;
      survey.capsules.push({ capsule, sha256, depth, names, cut: depth >= maxDepth && names > 0 });
    }
    if (depth >= maxDepth) break;
    await artifacts.read(listedBy(level, artifacts));
    const below: ReadArtifact[] = [];
    for (const parent of level) {
      for (const name of namesOf(parent.held)) {
        for (const started of judgeName(artifacts, survey, parent, name)) {
          if (known.has(started.capsule)) continue;
          known.add(started.capsule);
          below.push(started);
        }
      }
    }
    level = below;
  }
  return survey;
}

function namesOf({ spawnAllow }: Envelope): readonly string[] {
  return spawnAllow.entries;
}

/** Every version of every name that these capsules list. */
function* listedBy(level: readonly ReadArtifact[], artifacts: Artifacts): Generator<Coordinates> {
  for (const entry of new Set(level.flatMap(({ held }) => namesOf(held)))) {
    const name = parseArtifactName(entry);
    if (!name) continue;
    const listing = artifacts.versions(name);
    if (listing.ok) for (const version of listing.versions) yield { name, version };
  }
}

/** Judges every version of one listed name, and yields the artifacts that can be started. */
function* judgeName(
  artifacts: Artifacts,
  survey: Survey,
  parent: ReadArtifact,
  entry: string,
): Generator<ReadArtifact, void> {
  const name = parseArtifactName(entry);
  const absent = (edge: UnresolvedEdge) => {
    survey.edges.push(edge);
    survey.changes.push(...changesOfAbsence(edge));
  };
  const between = { parent: parent.capsule, name: entry };
  if (!name) return absent({ ...between, version: null, verdict: "not-a-full-name" });
  const listing = artifacts.versions(name);
  if (!listing.ok)
    return absent({ ...between, version: null, verdict: "unresolved", error: listing.message });
  if (listing.versions.length === 0) return absent({ ...between, version: null, verdict: "not-in-registry" });
  for (const version of listing.versions) {
    const reading = artifacts.reading({ name, version });
    if (!reading.ok) {
      absent({ ...between, version, verdict: "unresolved", error: reading.fault });
      continue;
    }
    const child = reading.artifact;
    const edge = { ...between, version, sha256: child.sha256 };
    const exceeded = survey.judge.exceeded(parent.held, child.held);
    const [first] = exceeded;
    if (!first) {
      survey.edges.push({ ...edge, verdict: "granted", closes_cycle: false });
      yield child;
      continue;
    }
    const axes = exceeded.map(({ axis, entries, error }) => ({
      key: axis.key,
      entries,
      error,
    }));
    survey.edges.push({ ...edge, verdict: "refused", error: first.error, axes });
    survey.changes.push(...changesOfRefusal(parent, child, exceeded));
  }
}
