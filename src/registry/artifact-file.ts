/**
 * Reads the two files of an artifact: from its `.sha256` the hash that its bytes must have, from its `.mur.zip` the hash that
 * they have, and the manifest in those same bytes.
 */

import { type BigIntStats, fstatSync, readSync } from "node:fs";
import { describeOsError } from "../os-error.ts";
import type { Sha256 } from "./artifact-name.ts";
import { isSameFile, type Stamp } from "./places.ts";
import type { SpareDescriptors } from "./spare-descriptors.ts";
import { readArchivedManifest } from "./zip/archive.ts";
import { ArchiveFault, FileChanged, HashedFile } from "./zip/hashed-file.ts";

const MAX_SIDECAR_BYTES = 4096;
const HEX_SHA256 = /^[0-9a-f]{64}$/;

/** `fault` names the path. `lasting`: it stays true until the file changes, so it is not a failure of the host. */
export type Sidecar =
  | { readonly ok: true; readonly sha256: Sha256 }
  | { readonly ok: false; readonly fault: string; readonly lasting: boolean };

/** @param seen what stood at the path before; another file is not read */
export function readSidecar(path: string, descriptors: SpareDescriptors, seen?: Stamp): Sidecar {
  const refused = (why: string): Sidecar => ({ ok: false, fault: `${path}: ${why}`, lasting: true });
  let descriptor: number | undefined;
  try {
    descriptor = descriptors.open(path);
    if (!stampOfOpen(descriptor, seen).isFile()) return refused("not a regular file");
    const bytes = Buffer.alloc(MAX_SIDECAR_BYTES + 1);
    const length = readSync(descriptor, bytes);
    if (length > MAX_SIDECAR_BYTES) return refused(`larger than ${MAX_SIDECAR_BYTES} bytes`);
    const text = bytes.toString("latin1", 0, length).trim();
    if (!HEX_SHA256.test(text)) return refused("must hold one lowercase hex SHA-256");
    return { ok: true, sha256: text as Sha256 };
  } catch (error) {
    return { ok: false, fault: `${path}: ${whyUnread(error)}`, lasting: false };
  } finally {
    if (descriptor !== undefined) descriptors.close(descriptor);
  }
}

export const MAX_ARTIFACT_BYTES = 512 * 1024 * 1024;

/** The result of reading an artifact once. */
export type ArtifactReading =
  | { readonly kind: "read"; readonly sha256: Sha256; readonly manifestText: Uint8Array }
  /** The bytes were read, but are not an archive with one manifest. `fault` quotes nothing of them. */
  | { readonly kind: "not-an-archive"; readonly sha256: Sha256; readonly fault: string }
  /** The file is not one that is read, such as a directory. `fault` names the path. */
  | { readonly kind: "unreadable"; readonly fault: string }
  /** The host could not read it now (no free descriptor, say), or it changed meanwhile: the next try may work. */
  | { readonly kind: "failed"; readonly fault: string };

/**
 * Reads the artifact at `path`; it follows a symbolic link, and does not block on a FIFO. Pauses where others may run.
 *
 * @param seen what stood at the path before; another file is not read
 */
export function* readArtifactFile(
  path: string,
  descriptors: SpareDescriptors,
  seen?: Stamp,
): Generator<void, ArtifactReading> {
  let descriptor: number | undefined;
  try {
    descriptor = descriptors.open(path);
    const stat = stampOfOpen(descriptor, seen);
    if (!stat.isFile()) return { kind: "unreadable", fault: `${path}: not a regular file` };
    if (stat.size > MAX_ARTIFACT_BYTES) {
      const limit = `${MAX_ARTIFACT_BYTES / 1024 / 1024} MiB`;
      return { kind: "unreadable", fault: `${path}: larger than ${limit}` };
    }
    return yield* readHashed(new HashedFile(descriptor, Number(stat.size)));
  } catch (error) {
    return { kind: "failed", fault: `${path}: ${whyUnread(error)}` };
  } finally {
    if (descriptor !== undefined) descriptors.close(descriptor);
  }
}

/**
 * The stamp of an open file. A folder that was swapped for the moment of the opening, and then swapped back, gives its paths
 * the same stamps before and after: only the open file shows that it is another one.
 *
 * @throws FileChanged if it is not the file that was seen
 */
function stampOfOpen(descriptor: number, seen: Stamp | undefined): BigIntStats {
  const stat = fstatSync(descriptor, { bigint: true });
  if (seen && !isSameFile(stat, seen)) throw new FileChanged();
  return stat;
}

function whyUnread(error: unknown): string {
  return error instanceof FileChanged ? "changed while it was being read" : describeOsError(error);
}

function* readHashed(file: HashedFile): Generator<void, ArtifactReading> {
  try {
    const manifestText = yield* readArchivedManifest(file);
    return { kind: "read", sha256: yield* file.finish(), manifestText };
  } catch (error) {
    if (!(error instanceof ArchiveFault)) throw error;
    return { kind: "not-an-archive", sha256: yield* file.finish(), fault: error.message };
  }
}
