/** Lists the versions of a name in the registry. Requests name one version; this is for tools that show all of them. */

import { readdirSync } from "node:fs";
import { describeOsError, isSystemError } from "../os-error.ts";
import { pathBelow } from "../paths.ts";
import { type ArtifactName, type ArtifactVersion, parseArtifactVersion } from "./artifact-name.ts";

/** The versions in ascending order, or one sentence that names the path and the OS error. */
export type VersionListing =
  | { readonly ok: true; readonly versions: readonly ArtifactVersion[] }
  | { readonly ok: false; readonly message: string };

/**
 * Lists the versions of `name` that have an archive for any platform. Whether an archive is valid, and is for this
 * platform, the registry says.
 */
export function listVersions(registryPath: string, name: ArtifactName): VersionListing {
  const directory = pathBelow(registryPath, name);
  try {
    const versions = readdirSync(directory)
      .map(parseArtifactVersion)
      .filter((version) => version !== undefined)
      .filter((version) => holdsArchive(pathBelow(directory, version)));
    return { ok: true, versions: versions.sort(byNumbers) };
  } catch (error) {
    if (isMissing(error)) return { ok: true, versions: [] };
    return { ok: false, message: `registry error for '${name}': ${directory}: ${describeOsError(error)}` };
  }
}

function holdsArchive(directory: string): boolean {
  try {
    return readdirSync(directory).some((file) => file.endsWith(".mur.zip"));
  } catch (error) {
    // A directory that cannot be listed may still hold what a request names.
    return !isMissing(error);
  }
}

function isMissing(error: unknown): boolean {
  return isSystemError(error) && (error.code === "ENOENT" || error.code === "ENOTDIR");
}

const NUMERIC = new Intl.Collator("en", { numeric: true });

/** `1.9.0` before `1.10.0`. */
function byNumbers(one: string, other: string): number {
  return NUMERIC.compare(one, other) || (one < other ? -1 : 1);
}
