/**
 * A `.mur.zip` on disk: the hash of its bytes, and the manifest that stands in those very bytes.
 *
 * The archive is read through blocks that are kept, then the whole file is hashed and each kept block is compared
 * with what went into the hash. So the manifest that is judged and the hash that is approved belong to the same
 * bytes by construction, whoever writes to the file meanwhile; and no file is ever held in memory whole.
 */

import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { RandomAccessReader } from "yauzl";
import { describeOsError, isSystemError } from "../os-error.ts";
import { ArchiveFault } from "./archive-fault.ts";
import type { Sha256 } from "./artifact-name.ts";
import { readManifestEntry } from "./manifest-entry.ts";

export const MAX_ARTIFACT_BYTES = 512 * 1024 * 1024;

const BLOCK_BYTES = 64 * 1024;
/** Room for a directory of some hundred thousand entries. */
const MAX_KEPT_BLOCKS = 512;
/** What is hashed between two turns of the event loop. */
const CHUNK_BYTES = 8 * BLOCK_BYTES;

/** What one reading of an artifact yielded. */
export type ArtifactReading =
  | { readonly kind: "read"; readonly sha256: Sha256; readonly manifestText: Uint8Array }
  /** The bytes are known, and they are no archive with one manifest in it. `fault` quotes nothing of them. */
  | { readonly kind: "not-an-archive"; readonly sha256: Sha256; readonly fault: string }
  /** The file is none that is read. `fault` names the path. */
  | { readonly kind: "unreadable"; readonly fault: string }
  /** The host could not read it now (no descriptor was free, say), or it changed meanwhile: the next try may. */
  | { readonly kind: "failed"; readonly fault: string };

/** Reads the artifact at `path`; a symbolic link is followed, a FIFO is not waited for. */
export async function readArtifactFile(path: string): Promise<ArtifactReading> {
  let file: FileHandle | undefined;
  try {
    file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const stat = await file.stat();
    if (!stat.isFile()) return unreadable(`${path}: not a regular file`);
    if (stat.size > MAX_ARTIFACT_BYTES) {
      return unreadable(`${path}: larger than ${MAX_ARTIFACT_BYTES / 1024 / 1024} MiB`);
    }
    return await readOpened(file, path, stat.size);
  } catch (error) {
    return { kind: "failed", fault: `${path}: ${describeOsError(error)}` };
  } finally {
    await file?.close();
  }
}

async function readOpened(file: FileHandle, path: string, size: number): Promise<ArtifactReading> {
  const blocks = new BlockReader(file, size);
  const manifestText = await readManifestEntry(blocks, size).catch((error: unknown) => {
    if (isSystemError(error)) throw error;
    return error instanceof ArchiveFault ? error : new ArchiveFault("it is not a whole ZIP archive");
  });
  const sha256 = await hashAndCompare(file, size, blocks.kept);
  if (sha256 === undefined) {
    return { kind: "failed", fault: `${path}: changed while it was being read` };
  }
  if (manifestText instanceof ArchiveFault) {
    return { kind: "not-an-archive", sha256, fault: manifestText.message };
  }
  return { kind: "read", sha256, manifestText };
}

function unreadable(fault: string): ArtifactReading {
  return { kind: "unreadable", fault };
}

/** The hash of the whole file, or `undefined` where its bytes are no longer those that were kept. */
async function hashAndCompare(
  file: FileHandle,
  size: number,
  kept: ReadonlyMap<number, Buffer>,
): Promise<Sha256 | undefined> {
  const hasher = new Bun.CryptoHasher("sha256");
  const chunk = Buffer.allocUnsafe(Math.min(CHUNK_BYTES, size));
  for (let position = 0; position < size; position += CHUNK_BYTES) {
    const length = Math.min(CHUNK_BYTES, size - position);
    if (!(await readFully(file, chunk, length, position))) return undefined;
    hasher.update(chunk.subarray(0, length));
    for (let start = 0; start < length; start += BLOCK_BYTES) {
      const block = kept.get((position + start) / BLOCK_BYTES);
      if (block && !block.equals(chunk.subarray(start, start + block.length))) return undefined;
    }
  }
  return hasher.digest("hex") as Sha256;
}

async function readFully(file: FileHandle, into: Buffer, length: number, position: number): Promise<boolean> {
  for (let done = 0; done < length; ) {
    const { bytesRead } = await file.read(into, done, length - done, position + done);
    if (bytesRead === 0) return false;
    done += bytesRead;
  }
  return true;
}

/** Random access for the ZIP reader, which keeps each block it served. */
class BlockReader extends RandomAccessReader {
  readonly kept = new Map<number, Buffer>();

  constructor(
    readonly file: FileHandle,
    readonly size: number,
  ) {
    super();
  }

  override read(
    into: Buffer,
    offset: number,
    length: number,
    position: number,
    callback: (error: Error | null) => void,
  ): void {
    const block = this.kept.get(Math.floor(position / BLOCK_BYTES));
    const within = position % BLOCK_BYTES;
    if (block && within + length <= block.length) {
      block.copy(into, offset, within, within + length);
      callback(null);
      return;
    }
    this.#gather(into, offset, length, position).then(
      () => callback(null),
      (error: Error) => callback(error),
    );
  }

  async #gather(into: Buffer, offset: number, length: number, position: number): Promise<void> {
    if (position < 0 || position + length > this.size) throw new ArchiveFault("it is truncated");
    for (let done = 0; done < length; ) {
      const at = position + done;
      const block = await this.#block(Math.floor(at / BLOCK_BYTES));
      done += block.copy(into, offset + done, at % BLOCK_BYTES, (at % BLOCK_BYTES) + length - done);
    }
  }

  async #block(index: number): Promise<Buffer> {
    const kept = this.kept.get(index);
    if (kept) return kept;
    if (this.kept.size === MAX_KEPT_BLOCKS) throw new ArchiveFault("its directory is too large");
    const start = index * BLOCK_BYTES;
    const block = Buffer.allocUnsafe(Math.min(BLOCK_BYTES, this.size - start));
    if (!(await readFully(this.file, block, block.length, start))) throw new ArchiveFault("it is truncated");
    this.kept.set(index, block);
    return block;
  }
}
