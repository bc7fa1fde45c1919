/**
 * What a child left in its directories, read without trusting it (runtime-side, 3): no link is followed, nothing but a
 * regular file is read, and never more than a bound.
 */

import { read as readFile } from "node:fs";
import { isAbsolute, join } from "node:path";
import { promisify } from "node:util";
import {
  close,
  type Descriptor,
  describeError,
  type Errno,
  encodeName,
  openDirectoryAt,
  openForReadingAt,
  statusOf,
} from "./posix.ts";
import { fault, ok, type Result } from "./result.ts";
import { type HeldDirectory, holdDirectory } from "./tree/held.ts";

/** The most that is read of a file that a child left: the whole answer that is kept. */
export const CHILD_FILE_BYTES = 64 * 1024 * 1024;
const CHUNK_BYTES = 256 * 1024;
/** Of a path that a fault quotes. */
const QUOTED = 512;

export interface ReadingOptions {
  /** Bytes at most; `CHILD_FILE_BYTES` where it is left out. */
  readonly limit?: number;
  /** Takes the next bytes, which are its own to keep; the reading waits for it. */
  readonly onChunk: (chunk: Uint8Array) => void | Promise<void>;
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
 * Reads the file `names` beneath a directory as a stream.
 *
 * @param names one entry's name each, the file's last
 */
export async function readChildFile(
  directory: HeldDirectory,
  names: readonly string[],
  { limit = CHILD_FILE_BYTES, onChunk }: ReadingOptions,
): Promise<Result<Reading, UnreadFile>> {
  const path = join(directory.path, ...names);
  const opened = openBeneath(directory.descriptor, names);
  if (!opened.ok) return fault(describeUnread(path, opened.fault));
  try {
    const status = statusOf(opened.value);
    if (!status.ok) return fault(describeUnread(path, status.fault));
    if (status.value.kind !== "file") {
      return fault({ kind: "refused", message: `${path} is not a regular file, so it is not read` });
    }
    const read = await readUpTo(opened.value, limit + 1, async (chunk, before) => {
      const within = chunk.subarray(0, Math.max(0, limit - before));
      if (within.length > 0) await onChunk(within);
    });
    if (!read.ok) return fault({ kind: "refused", message: `${path} could not be read: ${read.fault}` });
    const bytes = Math.min(read.value, limit);
    return ok({ bytes, total: Math.max(status.value.size, read.value), cut: read.value > limit });
  } finally {
    close(opened.value);
  }
}

function openBeneath(directory: Descriptor, names: readonly string[]): Result<Descriptor, Errno> {
  const [name, ...rest] = names.map(encodeName).reverse();
  if (!name) return fault("EINVAL");
  let at = directory;
  for (const step of rest.reverse()) {
    const next = openDirectoryAt(at, step);
    if (at !== directory) close(at);
    if (!next.ok) return next;
    at = next.value;
  }
  const opened = openForReadingAt(at, name);
  if (at !== directory) close(at);
  return opened;
}

function describeUnread(path: string, errno: Errno): UnreadFile {
  switch (errno) {
    case "ENOENT":
      return { kind: "absent", message: `${path} is not there` };
    case "ELOOP":
    case "ENOTDIR":
      return {
        kind: "refused",
        message: `${path} is reached through a symbolic link or a file, so it is not read`,
      };
    default:
      return { kind: "refused", message: `${path} could not be opened: ${describeError(errno)}` };
  }
}

/** The runtime's own reading, which does not block the thread. */
const readAsync = promisify(readFile);

async function readUpTo(
  file: Descriptor,
  limit: number,
  take: (chunk: Uint8Array, before: number) => Promise<void>,
): Promise<Result<number, string>> {
  let read = 0;
  while (read < limit) {
    const chunk = new Uint8Array(Math.min(CHUNK_BYTES, limit - read));
    let filled: number;
    try {
      filled = (await readAsync(file, chunk, 0, chunk.length, read)).bytesRead;
    } catch (error) {
      return fault(error instanceof Error ? error.message : String(error));
    }
    if (filled === 0) break;
    await take(chunk.subarray(0, filled), read);
    read += filled;
  }
  return ok(read);
}

/**
 * Takes hold of the records directory that a child reported on its readiness line: it must lie beneath
 * `~/.murmur/records`, end in the child's session id, be reached without a link, and be this user's. A child whose
 * directory is refused left no record and no result to be read.
 *
 * @param home the resolved home directory
 * @param reported `records_dir`, absent where the child reported none
 * @returns the fault is one sentence
 */
export function holdChildRecords(
  home: HeldDirectory,
  reported: string | undefined,
  sessionId: string,
): Result<HeldDirectory, string> {
  if (reported === undefined || reported === "") return fault("the child reported no records directory");
  // As a string of JSON, and cut: these are the child's own bytes, which may be anything.
  const quoted = JSON.stringify(reported.slice(0, QUOTED));
  const refused = (why: string) => fault(`the records directory that the child reported, ${quoted}, ${why}`);
  const steps = stepsBeneath(home.path, reported);
  if (!steps) return refused(`is not one beneath ${join(home.path, ...RECORDS)}`);
  if (steps.at(-1) !== sessionId) return refused("does not end in the child's session id");
  let at = home.descriptor;
  for (const name of [...RECORDS, ...steps]) {
    const next = openDirectoryAt(at, encodeName(name));
    if (at !== home.descriptor) close(at);
    if (!next.ok)
      return refused(`could not be opened at ${JSON.stringify(name)}: ${describeError(next.fault)}`);
    at = next.value;
  }
  const status = statusOf(at);
  if (status.ok && status.value.owner === process.geteuid?.()) return ok(holdDirectory(reported, at));
  close(at);
  return refused("belongs to another user");
}

const RECORDS = [".murmur", "records"];

/** The names from `~/.murmur/records` down to `path`; `undefined` where it does not lie beneath, or is not plain. */
function stepsBeneath(home: string, path: string): string[] | undefined {
  const prefix = `${join(home, ...RECORDS)}/`;
  if (!isAbsolute(path) || !path.startsWith(prefix)) return undefined;
  const steps = path.slice(prefix.length).split("/");
  return steps.every((step) => step !== "" && step !== "." && step !== "..") ? steps : undefined;
}
