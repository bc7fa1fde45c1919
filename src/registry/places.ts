/** Finds an artifact in the registry's directory: the pair of files for its coordinates. */

import { join } from "node:path";
import { describeOsError, isSystemError } from "../os-error.ts";
import { bareName, type Coordinates } from "./artifact-name.ts";
import { type Sighting, sight } from "./file-stamp.ts";

/** The files for a coordinate, and every path that was checked to find them. */
export interface Place {
  readonly zip: string;
  readonly sidecar: string;
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
  const base = join(registry.path, name, version, `${bareName(name)}-${version}`);
  const seenAt = registry.now();
  const seen: Sighting[] = [];
  try {
    for (const candidate of [`${base}-${registry.platform}`, base]) {
      const zip = `${candidate}.mur.zip`;
      const sidecar = `${candidate}.sha256`;
      // Both files of the pair must exist.
      const isWhole = [zip, sidecar].every((path) => {
        const sighting = sight(path);
        seen.push(sighting);
        return sighting.stamp !== undefined;
      });
      if (isWhole) return { ok: true, place: { zip, sidecar, seen, seenAt } };
    }
  } catch (error) {
    const path = isSystemError(error) && "path" in error ? String(error.path) : base;
    return { ok: false, fault: `${path}: ${describeOsError(error)}` };
  }
  const missing = seen.at(-1)?.path ?? base;
  return { ok: false, fault: `not found: ${missing}: No such file or directory (os error 2)` };
}
