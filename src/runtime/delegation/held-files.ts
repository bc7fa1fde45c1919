/** Small files beneath a directory that is held by descriptor: read without following a link, replaced whole. */

import { randomBytes } from "node:crypto";
import {
  close,
  createFileAt,
  type Descriptor,
  encodeName,
  makeDirectoryAt,
  openDirectoryAt,
  openForReadingAt,
  type Posix,
  read,
  removeAt,
  renameAt,
  type Status,
  statusOf,
  write,
} from "../posix.ts";
import { ok } from "../result.ts";

/** A regular file, open for reading: close its descriptor. */
export interface OpenFile {
  readonly descriptor: Descriptor;
  readonly status: Status;
}

/** Opens a regular file; `undefined` where there is none, but a link, a FIFO or a directory perhaps. */
export function openRegularFile(directory: Descriptor, name: string): OpenFile | undefined {
  const opened = openForReadingAt(directory, encodeName(name));
  if (!opened.ok) return undefined;
  const status = statusOf(opened.value);
  if (status.ok && status.value.kind === "file") return { descriptor: opened.value, status: status.value };
  close(opened.value);
  return undefined;
}

/** The next at most `limit` bytes: fewer only at the end of the file. */
export function readUpTo(descriptor: Descriptor, limit: number): Posix<Uint8Array> {
  const bytes = new Uint8Array(limit);
  let length = 0;
  while (length < limit) {
    const count = read(descriptor, bytes.subarray(length));
    if (!count.ok) return count;
    if (count.value === 0) break;
    length += count.value;
  }
  return ok(bytes.subarray(0, length));
}

export function writeAll(descriptor: Descriptor, bytes: Uint8Array): Posix<void> {
  let rest = bytes;
  while (rest.length > 0) {
    const count = write(descriptor, rest);
    if (!count.ok) return count;
    rest = rest.subarray(count.value);
  }
  return ok(undefined);
}

/**
 * Makes `name` hold what `fill` writes, at once: a reader sees the old file or the new one. Whatever had that name, a
 * link too, is replaced and not followed; a directory is `EISDIR`.
 */
export async function replaceFile(
  directory: Descriptor,
  name: string,
  fill: (descriptor: Descriptor) => Posix<void> | Promise<Posix<void>>,
): Promise<Posix<void>> {
  const staging = encodeName(`.${name}.${randomBytes(8).toString("hex")}`);
  const created = createFileAt(directory, staging);
  if (!created.ok) return created;
  const filled = await fill(created.value);
  close(created.value);
  const done = filled.ok ? renameAt(directory, staging, directory, encodeName(name)) : filled;
  if (!done.ok) removeAt(directory, staging);
  return done;
}

/** A directory of that name, made owner-only where there is none; a link in its place is refused. */
export function ensureDirectoryAt(directory: Descriptor, name: string): Posix<Descriptor> {
  const made = makeDirectoryAt(directory, encodeName(name), 0o700);
  if (!made.ok && made.fault !== "EEXIST") return made;
  return openDirectoryAt(directory, encodeName(name));
}
