/** One pair of capsules, on all twelve axes: why a spawn is refused, or would be. */

import { parseArtifactName } from "../registry/artifact-name.ts";
import { Artifacts, type ArtifactsOptions, type ReadArtifact } from "./artifacts.ts";
import { type AxisComparison, compareAxes, Judge } from "./judge.ts";

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
  const name = parseArtifactName(child.capsule.slice(0, child.capsule.indexOf("@")));
  return {
    parent: { capsule: parent.capsule, sha256: parent.sha256 },
    child: { capsule: child.capsule, sha256: child.sha256 },
    listed: name !== undefined && parent.held.spawnAllow.index.has(name),
    axes: compareAxes(parent.held, child.held),
    error: new Judge().exceeded(parent.held, child.held)[0]?.error,
  };
}
