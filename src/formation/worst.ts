/** How many capsules one formation can keep alive at most, so that an operator can size the three bounds. */

import type { Limits } from "../referee/bounds.ts";
import type { Graph } from "./graph.ts";

/** The largest value that a bound can have. Larger figures are cut to it. */
const MOST = 4294967295;

export interface LiveAtWorst {
  /** One root and everything below it, by depth and concurrency alone. */
  readonly depthAndConcurrency: number;
  /** The same, if each capsule starts only what its manifest allows. */
  readonly theseManifests: number;
  /** The same under the machine ceiling, which never refuses a root. */
  readonly withCeiling: number;
}

/**
 * @param longest capsules in the longest chain
 * @param cyclic whether only the depth bound ends some chain
 */
export function liveAtWorst(graph: Graph, limits: Limits, longest: number, cyclic: boolean): LiveAtWorst {
  const theseManifests =
    limits.maxConcurrent === 1
      ? Math.min(limits.maxDepth + 1, cyclic ? MOST : longest)
      : largestTree(graph, limits);
  return {
    depthAndConcurrency: fullTree(limits),
    theseManifests,
    withCeiling: Math.min(theseManifests, Math.max(1, limits.maxLiveCapsules)),
  };
}

/** Every session holds as many children as it may, on every level. */
function fullTree({ maxDepth, maxConcurrent }: Limits): number {
  if (maxConcurrent <= 1) return maxConcurrent === 0 ? 1 : Math.min(MOST, maxDepth + 1);
  let live = 1;
  for (let level = 0; level < maxDepth && live < MOST; level++) live = 1 + maxConcurrent * live;
  return Math.min(MOST, live);
}

/**
 * Each session holds as many as it may of the child with the most capsules below it. With two or more children the
 * figure at least doubles with each level of a chain, so the loop soon reaches `MOST` or the chain's end.
 */
function largestTree({ size, starts }: Graph, { maxDepth, maxConcurrent }: Limits): number {
  let live: readonly number[] = new Array(size).fill(1);
  for (let level = 0; level < maxDepth; level++) {
    const below = live;
    live = starts.map((children) => {
      const most = children.reduce((largest, child) => Math.max(largest, below[child] ?? 0), 0);
      return Math.min(MOST, 1 + maxConcurrent * most);
    });
    const [root = 1] = live;
    if (root === MOST || live.every((figure, capsule) => figure === below[capsule])) return root;
  }
  return live[0] ?? 1;
}
