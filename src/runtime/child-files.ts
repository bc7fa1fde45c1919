/** Reads, as a stream, what a child left in its directories. */

import { join } from "node:path";
import { fault, ok, type Result } from "../result.ts";
import { describeError } from "../sys/library.ts";
import { chunksOf, openRegularFile, type Unopened } from "./tree/files.ts";
import type { HeldDirectory } from "./tree/held.ts";

/** The most that is read of a file that a child left: an answer of the largest size that is kept. */
export const CHILD_FILE_BYTES = 64 * 1024 * 1024;

/** How a child's file is read. */
export interface ReadingOptions {
  /** The most bytes to read. Default: `CHILD_FILE_BYTES`. */
  readonly limit?: number;
  /** Takes the next bytes, and may keep them. Reading waits for it. */
  readonly onChunk: (chunk: Uint8Array) => void | Promise<void>;
  /** When it aborts, no further byte is read. */
  readonly signal?: AbortSignal;
}

/** How a reading ended. */
export interface Reading {
  /** How many bytes were handed out. */
  readonly bytes: number;
  /** The file's size in bytes when it was opened, or how much was read of it if it grew. */
  readonly total: number;
  /** Whether the file held more than the limit. */
  readonly cut: boolean;
}

/** `absent`: there is no such file. `refused`: it is not read, and `message` says why. */
export interface UnreadFile {
  readonly kind: "absent" | "refused";
  readonly message: string;
}

/**
 * Reads the file `names` below a directory. It must be a regular file. No link is followed on the way, and a FIFO is
 * not waited for.
 *
 * @param names the names of the entries on the way, the file's last
 */
export async function readChildFile(
  directory: HeldDirectory,
  names: readonly string[],
  { limit = CHILD_FILE_BYTES, onChunk, signal }: ReadingOptions,
): Promise<Result<Reading, UnreadFile>> {
  const path = join(directory.path, ...names);
  const opened = openRegularFile(directory.descriptor, names);
  if (!opened.ok) return fault(describeUnread(path, opened.fault));
  const file = opened.value;
  try {
    let read = 0;
    // One byte more than the limit shows whether the file holds more.
    for await (const chunk of chunksOf(file, limit + 1)) {
      if (signal?.aborted) return fault({ kind: "refused", message: `${path} was given up` });
      if (!chunk.ok) {
        return fault({
          kind: "refused",
          message: `${path} could not be read: ${describeError(chunk.fault)}`,
        });
      }
      const within = chunk.value.subarray(0, limit - read);
      if (within.length > 0) await onChunk(within);
      read += chunk.value.length;
    }
    return ok({ bytes: Math.min(read, limit), total: Math.max(file.size, read), cut: read > limit });
  } finally {
    file.close();
  }
}

function describeUnread(path: string, why: Unopened): UnreadFile {
  switch (why) {
    case "ENOENT":
      return { kind: "absent", message: `${path} is not there` };
    case "not-regular":
      return { kind: "refused", message: `${path} is not a regular file, so it is not read` };
    case "ELOOP":
    case "ENOTDIR":
      return {
        kind: "refused",
        message: `${path} is reached through a symbolic link or a file, so it is not read`,
      };
    default:
      return { kind: "refused", message: `${path} could not be opened: ${describeError(why)}` };
  }
}
