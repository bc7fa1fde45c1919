/**
 * The three bounds on delegation, checked in this order: depth, because it is permanent for the asking session; the
 * machine ceiling, whose answer does not depend on who is asking; concurrency, which is about one formation alone.
 */

/** The operator's three numbers. None has a value that means unlimited; 0 refuses every delegation. */
export interface Limits {
  readonly maxDepth: number;
  readonly maxLiveCapsules: number;
  readonly maxConcurrent: number;
}

/** The defaults. The default machine ceiling depends on the host. */
export const DEFAULT_LIMITS = { maxDepth: 3, maxConcurrent: 4 } as const;

/** Start the daemon: "multiplies the host's core count by 8 and clamps the result to between 16 and 256". */
export function defaultCeiling(cores: number): number {
  return Math.min(256, Math.max(16, cores * 8));
}

/** What the daemon's own records say at the moment of a `POST /spawn`. */
export interface Standing {
  /** Levels of delegation still available below the asking session. */
  readonly depthRemaining: number;
  /** Capsules live on the host, across every formation. */
  readonly liveCapsules: number;
  /** Children the asking session holds, approved and not yet launched ones included. */
  readonly liveChildren: number;
}

export type Bound = "depth" | "machine-ceiling" | "concurrency";

/** The first bound that has been reached, or `undefined` if one more child fits. */
export function boundReached(limits: Limits, standing: Standing): Bound | undefined {
  if (standing.depthRemaining <= 0) return "depth";
  if (standing.liveCapsules >= limits.maxLiveCapsules) return "machine-ceiling";
  if (standing.liveChildren >= limits.maxConcurrent) return "concurrency";
  return undefined;
}
