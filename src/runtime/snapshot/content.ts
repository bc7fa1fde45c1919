/**
 * Copies a file's content in the fastest way that the two file systems offer: shared storage, else a copy within the
 * kernel, else through memory. Holes stay holes. At most as much is copied as the file held when it was opened, so
 * copying a growing file ends.
 */

import { fault, ok, type Result } from "../../result.ts";
import { cloneContent, copyRange, read, seek, setLength, write } from "../../sys/content.ts";
import { close, type Descriptor } from "../../sys/descriptors.ts";
import { cloneFileAt, type Name, openForReadingAt, removeAt, setModeAt } from "../../sys/entries.ts";
import type { Errno, Posix } from "../../sys/library.ts";
import { type Status, statusOf } from "../../sys/status.ts";

/** Why a copy stopped: a fault at its source, a fault at its destination, or an abort. */
export type ContentFault =
  | { readonly side: "source" | "destination"; readonly errno: Errno }
  | { readonly side: "abort" };

/** Called with the number of bytes as they are copied. Returning `false` cancels the copy. */
export type Advance = (bytes: number) => boolean;

/**
 * How the files of one file system can be copied to the destination's. A way that was refused once is not tried again.
 */
export interface Means {
  clone: boolean;
  withinKernel: boolean;
}

/** Up to this size one read and one write are faster than asking the kernel to copy or share. */
const SMALL_BYTES = 64 * 1024;
/** How much is copied between two checks whether to continue: a few milliseconds' worth. */
const STRETCH_BYTES = 8 * 1024 * 1024;
const WHILE_WRITTEN = 0o600;
const buffer = new Uint8Array(new ArrayBuffer(256 * 1024));

/** The errors of a file system, or of a sandbox around it, that cannot do this between these two files. */
const REFUSALS: readonly Errno[] = [
  "ENOSYS",
  "EXDEV",
  "EOPNOTSUPP",
  "ENOTSUP",
  "ENOTTY",
  "EINVAL",
  "EPERM",
  "EBADF",
];

/**
 * Copies the content of `from`, whose status is given, to the empty file `to`. Returns the number of bytes copied,
 * which is less than the status says if the file has shrunk.
 */
export function copyContent(
  from: Descriptor,
  to: Descriptor,
  status: Status,
  means: Means,
  advance: Advance,
): Result<number, ContentFault> {
  const { size } = status;
  if (size <= SMALL_BYTES) return size === 0 ? ok(0) : throughMemory(from, to, size, advance);
  if (means.clone) {
    const cloned = clone(from, to, size);
    if (cloned.ok) return cloned;
    if (REFUSALS.includes(cloned.fault)) means.clone = false;
  }
  return status.allocated < size
    ? copyData(from, to, size, means, advance)
    : copyStretch(from, to, size, means, advance);
}

/**
 * macOS: makes a new file that shares the storage of `from`, and opens it, with the size of `status`. Returns a fault
 * if that is not possible; then no file of that name is left.
 */
export function cloneWhole(
  from: Descriptor,
  status: Status,
  means: Means,
  to: Descriptor,
  name: Name,
): Posix<Descriptor> {
  if (!means.clone || status.size <= SMALL_BYTES) return fault("ENOTSUP");
  const cloned = cloneFileAt(from, to, name);
  if (!cloned.ok) return cloned;
  // The clone has the mode of the original, which may deny access to its own user.
  const readable = setModeAt(to, name, WHILE_WRITTEN);
  const opened = readable.ok ? openForReadingAt(to, name) : readable;
  const now = opened.ok ? statusOf(opened.value) : opened;
  if (opened.ok && now.ok && now.value.size === status.size) return opened;
  if (opened.ok) close(opened.value);
  removeAt(to, name);
  return fault("ESTALE");
}

/** Sharing takes the file as it is now, which may have grown. */
function clone(from: Descriptor, to: Descriptor, size: number): Posix<number> {
  const cloned = cloneContent(from, to);
  if (!cloned.ok) return cloned;
  const status = statusOf(to);
  if (!status.ok || status.value.size <= size) return status.ok ? ok(status.value.size) : status;
  const cut = setLength(to, size);
  return cut.ok ? ok(size) : cut;
}

/** Copies only the data of a file that has holes. */
function copyData(
  from: Descriptor,
  to: Descriptor,
  size: number,
  means: Means,
  advance: Advance,
): Result<number, ContentFault> {
  for (let at = 0; at < size; ) {
    const data = seek(from, at, "data");
    if (!data.ok && data.fault === "ENXIO") break;
    const hole = data.ok ? seek(from, data.value, "hole") : data;
    // The file system does not say, or the file shrank between the two calls.
    const start = data.ok && hole.ok ? data.value : at;
    const end = data.ok && hole.ok ? Math.min(hole.value, size) : size;
    if (start >= end) break;
    const here = seek(from, start, "start");
    const there = seek(to, start, "start");
    if (!here.ok) return fault({ side: "source", errno: here.fault });
    if (!there.ok) return fault({ side: "destination", errno: there.fault });
    const copied = copyStretch(from, to, end - start, means, advance);
    if (!copied.ok) return copied;
    if (copied.value < end - start) break;
    at = end;
  }
  const now = statusOf(from);
  if (!now.ok) return fault({ side: "source", errno: now.fault });
  const length = Math.min(size, now.value.size);
  const set = setLength(to, length);
  return set.ok ? ok(length) : fault({ side: "destination", errno: set.fault });
}

/** Copies `length` bytes, or up to the end of the file, from the current position of each file. */
function copyStretch(
  from: Descriptor,
  to: Descriptor,
  length: number,
  means: Means,
  advance: Advance,
): Result<number, ContentFault> {
  let left = length;
  while (left > 0 && means.withinKernel) {
    const copied = copyRange(from, to, Math.min(left, STRETCH_BYTES));
    if (!copied.ok && REFUSALS.includes(copied.fault)) means.withinKernel = false;
    // Some file systems copy nothing and report the end, and an error does not say which side failed. Reading tells.
    if (!copied.ok || copied.value === 0) break;
    left -= copied.value;
    if (!advance(copied.value)) return fault({ side: "abort" });
  }
  if (left === 0) return ok(length);
  const rest = throughMemory(from, to, left, advance);
  return rest.ok ? ok(length - left + rest.value) : rest;
}

function throughMemory(
  from: Descriptor,
  to: Descriptor,
  length: number,
  advance: Advance,
): Result<number, ContentFault> {
  let copied = 0;
  while (copied < length) {
    const filled = read(from, buffer.subarray(0, Math.min(length - copied, buffer.length)));
    if (!filled.ok) return fault({ side: "source", errno: filled.fault });
    if (filled.value === 0) break;
    for (let written = 0; written < filled.value; ) {
      const count = write(to, buffer.subarray(written, filled.value));
      if (!count.ok) return fault({ side: "destination", errno: count.fault });
      written += count.value;
    }
    copied += filled.value;
    if (!advance(filled.value)) return fault({ side: "abort" });
  }
  return ok(copied);
}
