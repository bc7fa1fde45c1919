/** Where an artifact is: the pair of files for its coordinates in the registry's directory, and whether they have changed. */

import { statSync } from "node:fs";
import { describeOsError, isSystemError } from "../os-error.ts";
import { bareName, type Coordinates } from "./artifact-name.ts";

/** The platforms that artifacts are published for, as in the names of their files. */
export const PLATFORMS = ["linux-x86_64", "linux-aarch64", "darwin-x86_64", "darwin-aarch64"] as const;

const ARCHITECTURES: Partial<Record<NodeJS.Architecture, string>> = { x64: "x86_64", arm64: "aarch64" };

export function platformName(platform: NodeJS.Platform = process.platform, arch = process.arch): string {
  return `${platform}-${ARCHITECTURES[arch] ?? arch}`;
}

/** The files for a coordinate, and every path that was checked to find them. */
export interface Place {
  readonly zip: Found;
  readonly sidecar: Found;
  /** Every path that was checked, missing ones too, with its stamp. */
  readonly seen: readonly Sighting[];
  /** Unix milliseconds, read before the first check. */
  readonly seenAt: number;
}

/** A registry's directory, the platform whose artifacts are preferred there, and a clock in unix milliseconds. */
export interface RegistryDirectory {
  readonly path: string;
  readonly platform: string;
  readonly now: () => number;
}

/** The pair for this platform if both files exist, else the pair for any platform. `fault` names the path. */
export function locate(
  { name, version }: Coordinates,
  registry: RegistryDirectory,
): { readonly ok: true; readonly place: Place } | { readonly ok: false; readonly fault: string } {
  // No `join`, which would remove a `..` of the registry's path by text.
  const base = `${registry.path}/${name}/${version}/${bareName(name)}-${version}`;
  const seenAt = registry.now();
  const seen: Sighting[] = [];
  let missing = `${base}.mur.zip`;
  try {
    for (const candidate of [`${base}-${registry.platform}`, base]) {
      // Both files of the pair must exist.
      const zip = sight(`${candidate}.mur.zip`);
      seen.push(zip);
      if (!isFound(zip)) continue;
      const sidecar = sight(`${candidate}.sha256`);
      seen.push(sidecar);
      if (isFound(sidecar)) return { ok: true, place: { zip, sidecar, seen, seenAt } };
      // Half of a pair is there, so its other half is what somebody has to look for.
      missing = sidecar.path;
    }
  } catch (error) {
    const path = isSystemError(error) && "path" in error ? String(error.path) : base;
    return { ok: false, fault: `${path}: ${describeOsError(error)}` };
  }
  return { ok: false, fault: `not found: ${missing}: ${whyMissing(missing)}` };
}

/** Its name may be too long for any file. */
function whyMissing(path: string): string {
  try {
    statSync(path);
  } catch (error) {
    return describeOsError(error);
  }
  // It is there by now.
  return "No such file or directory (os error 2)";
}

/** A path, and the stamp of the file there; no stamp if there is none. */
export interface Sighting {
  readonly path: string;
  readonly stamp: Stamp | undefined;
}

/** A path with a file. */
export interface Found extends Sighting {
  readonly stamp: Stamp;
}

function isFound(sighting: Sighting): sighting is Found {
  return sighting.stamp !== undefined;
}

/**
 * What the file system says about a path, with times in nanoseconds. Two equal stamps mean that the file was not replaced and
 * not written to in between.
 */
export interface Stamp {
  readonly dev: bigint;
  readonly ino: bigint;
  readonly size: bigint;
  readonly mtimeNs: bigint;
  /**
   * When it last changed in any way, in unix nanoseconds. Nobody can set it, and every write moves it, but for one through
   * a memory mapping that was written through before.
   */
  readonly ctimeNs: bigint;
}

/** A file that changed less than this ago could change again and keep the same time stamp. */
const SETTLED_AFTER_MS = 20;
/** The same on file systems that count in steps of one or two seconds. */
const SETTLED_AFTER_COARSE_MS = 2000 + SETTLED_AFTER_MS;
/**
 * A change further in the future than this means that the clock was set back: the next change gets another time, unless
 * times are coarse.
 */
const CLOCK_SET_BACK_MS = 1000;

/**
 * Looks at a path. Follows links.
 *
 * @throws the file system's error, unless nothing is there
 */
export function sight(path: string): Sighting {
  try {
    return { path, stamp: statSync(path, { bigint: true, throwIfNoEntry: false }) };
  } catch (error) {
    // No file has such a name. That of the pair for any platform is shorter.
    if (isSystemError(error) && error.code === "ENAMETOOLONG") return { path, stamp: undefined };
    throw error;
  }
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
  return now && stamp ? isSameFile(now, stamp) : now === stamp;
}

/** Whether two stamps are of one file that has not changed in between. */
export function isSameFile(one: Stamp, other: Stamp): boolean {
  return (
    one.ctimeNs === other.ctimeNs &&
    one.mtimeNs === other.mtimeNs &&
    one.size === other.size &&
    one.ino === other.ino &&
    one.dev === other.dev
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
    if (isCoarse(stamp)) return age > SETTLED_AFTER_COARSE_MS;
    return age > SETTLED_AFTER_MS || age < -CLOCK_SET_BACK_MS;
  });
}

/** Whether its times look like those of a file system that keeps no fractions of a second. */
function isCoarse({ ctimeNs, mtimeNs }: Stamp): boolean {
  return ctimeNs % 1_000_000_000n === 0n && mtimeNs % 1_000_000_000n === 0n;
}
