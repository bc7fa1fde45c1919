/**
 * Files below a held directory: read, appended to and replaced without trusting whoever left them there.
 *
 * No link is followed on the way, and a FIFO is not waited for. A file is inspected after it was opened, and never more
 * is read than the reader asked for.
 */

import { randomBytes } from "node:crypto";
import { read as readFile } from "node:fs";
import { promisify } from "node:util";
import { fault, ok, type Result } from "../../result.ts";
import { read, seek, writeAll } from "../../sys/content.ts";
import { close, type Descriptor } from "../../sys/descriptors.ts";
import {
  createFileAt,
  encodeName,
  openForAppendingAt,
  openForReadingAt,
  removeAt,
  renameAt,
} from "../../sys/entries.ts";
import { describeError, type Errno, faultOfException, type Posix } from "../../sys/library.ts";
import { statusOf } from "../../sys/status.ts";
import type { Clock } from "../clock.ts";
import { openDescendant } from "./held.ts";

/** Open for reading, positioned at its beginning. */
export interface RegularFile {
  readonly descriptor: Descriptor;
  /** Its size in bytes when it was opened. Another process may still write to it. */
  readonly size: number;
  close(): void;
}

/** `not-regular`: a directory, a FIFO, a socket or a device. A link is `ELOOP`, or `ENOTDIR` on the way. */
export type Unopened = Errno | "not-regular";

/**
 * A file at `directory` or below. `.` and `..` are no names of entries.
 *
 * @param names the names of the entries on the way, the file's last
 */
export function openRegularFile(
  directory: Descriptor,
  names: readonly string[],
): Result<RegularFile, Unopened> {
  if (names.includes(".") || names.includes("..")) return fault("EINVAL");
  const steps = names.map(encodeName);
  const name = steps.pop();
  if (!name) return fault("EINVAL");
  const parent = openDescendant(directory, steps);
  if (!parent.ok) return fault(parent.fault.errno);
  const opened = openForReadingAt(parent.value, name);
  if (parent.value !== directory) close(parent.value);
  return opened.ok ? ifRegular(opened.value) : opened;
}

/** The errors for a name that nothing has, or a link, or (the last two) a socket. */
const NO_FILE: readonly Errno[] = ["ENOENT", "ENOTDIR", "ELOOP", "ENXIO", "EOPNOTSUPP"];
/** The errors for a lack that may pass. */
export const NO_DESCRIPTOR: readonly Errno[] = ["EMFILE", "ENFILE"];
const TRIES = 20;
const PAUSE_MS = 100;

/**
 * `openRegularFile`, for a file whose absence means something. `undefined`: there is certainly no such regular file. The
 * fault is the error in words, which says nothing about the file. If no descriptor is free, this waits up to 2 s for one,
 * and `directory` must stay open meanwhile.
 */
export async function openIfThere(
  directory: Descriptor,
  names: readonly string[],
  clock: Clock,
): Promise<Result<RegularFile | undefined, string>> {
  const opened = await triedAgain(
    clock,
    () => openRegularFile(directory, names),
    (tried) => !tried.ok && tried.fault !== "not-regular" && NO_DESCRIPTOR.includes(tried.fault),
  );
  if (opened.ok) return opened;
  const why = opened.fault;
  return why === "not-regular" || NO_FILE.includes(why) ? ok(undefined) : fault(describeError(why));
}

/** What an attempt comes to. For up to 2 s it is made again, as long as `isShort` says that it wanted for a descriptor. */
export async function triedAgain<T>(
  clock: Clock,
  attempt: () => T,
  isShort: (tried: T) => boolean,
): Promise<T> {
  for (let tries = TRIES; ; tries--) {
    const tried = attempt();
    if (tries === 0 || !isShort(tried)) return tried;
    await new Promise<void>((resolve) => void clock.after(PAUSE_MS, resolve));
  }
}

/** Closes what is no regular file. */
function ifRegular(descriptor: Descriptor): Result<RegularFile, Unopened> {
  const status = statusOf(descriptor);
  if (status.ok && status.value.kind === "file") {
    return ok({ descriptor, size: status.value.size, close: () => close(descriptor) });
  }
  close(descriptor);
  return status.ok ? fault("not-regular") : status;
}

/** The next bytes, at most `limit`, read at once: for small files. Fewer only at the end of the file. */
export function readAtOnce(file: RegularFile, limit: number): Posix<Uint8Array> {
  const bytes = new Uint8Array(limit);
  let length = 0;
  while (length < limit) {
    const count = read(file.descriptor, bytes.subarray(length));
    if (!count.ok) return count;
    if (count.value === 0) break;
    length += count.value;
  }
  return ok(bytes.subarray(0, length));
}

const CHUNK_BYTES = 256 * 1024;
/** Bun's own read, which does not block the thread. */
const readAsync = promisify(readFile);

/** The next bytes, at most `limit`, piece by piece. The caller may keep each piece. A fault comes last. */
export async function* chunksOf(file: RegularFile, limit: number): AsyncGenerator<Posix<Uint8Array>> {
  for (let rest = limit; rest > 0; ) {
    const chunk = new Uint8Array(Math.min(CHUNK_BYTES, rest));
    let filled: number;
    try {
      filled = (await readAsync(file.descriptor, chunk, 0, chunk.length, null)).bytesRead;
    } catch (error) {
      yield faultOfException(error);
      return;
    }
    if (filled === 0) return;
    rest -= filled;
    yield ok(chunk.subarray(0, filled));
  }
}

const LINE_FEED = 0x0a;

/**
 * Appends `line`, which ends in a line feed, to the file `name`, and makes the file if there is none. This is usually
 * one write, so lines of other writers come before or after it. If the file ends in an incomplete line, as after a full
 * disk, the new line still starts on a line of its own.
 *
 * A link is not followed, and only a regular file is written to. The fault is a phrase that says why.
 */
export function appendLine(directory: Descriptor, name: string, line: Uint8Array): Result<void, string> {
  const opened = openForAppendingAt(directory, encodeName(name));
  const file = opened.ok ? ifRegular(opened.value) : opened;
  if (!file.ok) {
    return fault(file.fault === "not-regular" ? "it is not a regular file" : describeError(file.fault));
  }
  try {
    const torn = endsTorn(file.value);
    const bytes = torn.ok && torn.value ? Buffer.concat([Uint8Array.of(LINE_FEED), line]) : line;
    const written = torn.ok ? writeAll(file.value.descriptor, bytes) : torn;
    return written.ok ? written : fault(describeError(written.fault));
  } finally {
    file.value.close();
  }
}

function endsTorn({ descriptor, size }: RegularFile): Posix<boolean> {
  if (size === 0) return ok(false);
  const at = seek(descriptor, size - 1, "start");
  if (!at.ok) return at;
  const last = new Uint8Array(1);
  const count = read(descriptor, last);
  return count.ok ? ok(count.value === 1 && last[0] !== LINE_FEED) : count;
}

/**
 * Makes `name` hold what `fill` writes, in one step: a reader sees the old file or the new one. Whatever had that name
 * is replaced, even a link, which is not followed. A directory is `EISDIR`.
 */
export async function replaceFile(
  directory: Descriptor,
  name: string,
  fill: (descriptor: Descriptor) => Posix<void> | Promise<Posix<void>>,
): Promise<Posix<void>> {
  const staging = encodeName(`.${name}.${randomBytes(8).toString("hex")}`);
  const created = createFileAt(directory, staging);
  if (!created.ok) return created;
  let done: Posix<void> | undefined;
  try {
    const filled = await fill(created.value);
    done = filled.ok ? renameAt(directory, staging, directory, encodeName(name)) : filled;
    return done;
  } finally {
    close(created.value);
    if (!done?.ok) removeAt(directory, staging);
  }
}
