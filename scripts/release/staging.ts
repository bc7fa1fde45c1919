/** A release appears whole or not at all: it is made next to its place, and moved there when every check has passed. */
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rename, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import type { Result } from "../../src/result.ts";

/** Where a release is made. */
export type Staging = {
  /** What becomes the release. */
  readonly files: string;
  /** Runtimes and intermediate files; deleted afterwards. */
  readonly work: string;
};

/**
 * Lets `make` fill a staging directory. If that succeeds, its files are moved to `place`. If it fails, `place` is
 * unchanged and the staging directory is deleted.
 */
export async function stageRelease(
  place: string,
  make: (staging: Staging) => Promise<Result<undefined, string>>,
): Promise<Result<undefined, string>> {
  await mkdir(dirname(place), { recursive: true });
  const directory = await mkdtemp(join(dirname(place), `.${basename(place)}-`));
  const staging = { files: join(directory, "files"), work: join(directory, "work") };
  try {
    await mkdir(staging.files);
    await mkdir(staging.work);
    const made = await make(staging);
    if (made.ok) await replace(staging.files, place, join(directory, "previous"));
    return made;
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

/** Takes two renames, because a rename cannot replace a directory that is not empty. */
async function replace(files: string, place: string, previous: string): Promise<void> {
  if (!existsSync(place)) return await rename(files, place);
  await rename(place, previous);
  try {
    await rename(files, place);
  } catch (error) {
    await rename(previous, place);
    throw error;
  }
}
