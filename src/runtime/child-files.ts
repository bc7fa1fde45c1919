/** What a child left in its directories, read as a stream. */

import { join } from "node:path";
import { describeError } from "./posix.ts";
import { fault, ok, type Result } from "./result.ts";
import type { HeldDirectory } from "./tree/held.ts";
import { chunksOf, openRegularFile, type Unopened } from "./tree/regular-file.ts";

/** The most that is read of a file that a child left: the whole answer that is kept. */
export const CHILD_FILE_BYTES = 64 * 1024 * 1024;

/** How a child's file is read. */
export interface ReadingOptions {
  /** Bytes at most; `CHILD_FILE_BYTES` where it is left out. */
  readonly limit?: number;
  /** Takes the next bytes, which are its own to keep; the reading waits for it. */
  readonly onChunk: (chunk: Uint8Array) => void | Promise<void>;
  /** Aborted: no further byte is read. */
  readonly signal?: AbortSignal;
}

/** How a reading ended. */
export interface Reading {
  /** Bytes that were handed out. */
  readonly bytes: number;
  /** Bytes that the file held when it was opened, or that were read of one that grew. */
  readonly total: number;
  /** Whether there was more than the limit. */
  readonly cut: boolean;
}

/** `absent`: there is nothing of that name. `refused`: what is there is not read, and `message` says why. */
export interface UnreadFile {
  readonly kind: "absent" | "refused";
  readonly message: string;
}

/**
 * Reads the file `names` beneath a directory: a regular file only, no link on the way, no FIFO waited for.
 *
 * @param names one entry's name each, the file's last
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
    // One byte more tells whether there is more.
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
