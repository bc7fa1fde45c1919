/**
 * What the file system says about a path, kept for comparison: device, inode, size, and the modification and change times
 * in nanoseconds. Two equal stamps mean that the file was not replaced and not written to in between.
 */

import { statSync } from "node:fs";

/** A path, and the stamp of the file there; no stamp if there is none. */
export interface Sighting {
  readonly path: string;
  readonly stamp: Stamp | undefined;
}

export interface Stamp {
  readonly dev: bigint;
  readonly ino: bigint;
  readonly size: bigint;
  readonly mtimeNs: bigint;
  /** When it last changed in any way, in unix nanoseconds. Every write moves it, and nobody can set it. */
  readonly ctimeNs: bigint;
}

/** A file that changed less than this ago could change again and keep the same time stamp. */
const SETTLED_AFTER_MS = 20;
/** The same on file systems that count in steps of one or two seconds. */
const SETTLED_AFTER_COARSE_MS = 2000 + SETTLED_AFTER_MS;
/** A change further in the future than this means that the clock was set back: the next change gets another time. */
const CLOCK_SET_BACK_MS = 1000;

/**
 * Looks at a path. Follows links.
 *
 * @throws the file system's error, unless nothing is there
 */
export function sight(path: string): Sighting {
  return { path, stamp: statSync(path, { bigint: true, throwIfNoEntry: false }) };
}

/** Whether every path still has the stamp that was seen. */
export function isUnchanged(seen: readonly Sighting[]): boolean {
  return seen.every(isLike);
}

function isLike({ path, stamp }: Sighting): boolean {
  let now: Stamp | undefined;
  try {
    now = sight(path).stamp;
  } catch {
    return false;
  }
  if (!now || !stamp) return now === stamp;
  return (
    now.ctimeNs === stamp.ctimeNs &&
    now.mtimeNs === stamp.mtimeNs &&
    now.size === stamp.size &&
    now.ino === stamp.ino &&
    now.dev === stamp.dev
  );
}

/**
 * Whether all these changes are old enough that another change would get another time.
 *
 * @param seenAt unix milliseconds, read before they were looked at
 */
export function isSettled(seen: readonly Sighting[], seenAt: number): boolean {
  return seen.every(({ stamp }) => {
    if (!stamp) return true;
    const age = seenAt - Number(stamp.ctimeNs) / 1e6;
    return age > (isCoarse(stamp) ? SETTLED_AFTER_COARSE_MS : SETTLED_AFTER_MS) || age < -CLOCK_SET_BACK_MS;
  });
}

/** Whether its times look like those of a file system that keeps no fractions of a second. */
function isCoarse({ ctimeNs, mtimeNs }: Stamp): boolean {
  return ctimeNs % 1_000_000_000n === 0n && mtimeNs % 1_000_000_000n === 0n;
}
