/**
 * A file's content, copied by the quickest way that the two file systems offer: shared storage, a copy within the
 * kernel, else through memory. Holes stay holes. Never more is copied than the file held when it was opened, so that
 * one that grows has an end.
 */

import { cloneContent, copyRange, read, seek, setLength, write } from "../posix/content.ts";
import {
  cloneFileAt,
  close,
  type Descriptor,
  type Errno,
  type Name,
  openForReadingAt,
  type Posix,
  removeAt,
  type Status,
  setModeAt,
  statusOf,
} from "../posix.ts";
import { fault, ok, type Result } from "../result.ts";

/** Why a copy stopped: a fault at its source, a fault at its destination, or because it was aborted. */
export type ContentFault =
  | { readonly side: "source" | "destination"; readonly errno: Errno }
  | { readonly side: "abort" };

/** Told of bytes as they are copied; `false` gives the copy up. */
export type Advance = (bytes: number) => boolean;

/** How the files of one file system can be copied to the destination's: what was refused once is not tried again. */
export interface Means {
  clone: boolean;
  withinKernel: boolean;
}

/** Up to here one read and one write are quicker than asking the kernel to copy or share. */
const SMALL_BYTES = 64 * 1024;
/** How much is copied between two looks at whether to go on: a few milliseconds' worth. */
const STRETCH_BYTES = 8 * 1024 * 1024;
const WHILE_WRITTEN = 0o600;
const buffer = new Uint8Array(new ArrayBuffer(256 * 1024));

/** What a file system, or a sandbox around it, answers where it cannot do this between these two files. */
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
 * Copies the content of `from`, whose status is given, to the empty file `to`: the bytes that the copy holds, fewer
 * than the status says where the file has shrunk.
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
 * macOS: a new file that shares the storage of `from`, opened, with the size of `status`. A fault where that cannot be
 * had; then nothing of that name is left.
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
  // The clone has the mode of its original, which may keep its own user out.
  const readable = setModeAt(to, name, WHILE_WRITTEN);
  const opened = readable.ok ? openForReadingAt(to, name) : readable;
  const held = opened.ok ? statusOf(opened.value) : opened;
  if (opened.ok && held.ok && held.value.size === status.size) return opened;
  if (opened.ok) close(opened.value);
  removeAt(to, name);
  return fault("ESTALE");
}

/** Sharing takes the file as it is now, which may be more than it was. */
function clone(from: Descriptor, to: Descriptor, size: number): Posix<number> {
  const cloned = cloneContent(from, to);
  if (!cloned.ok) return cloned;
  const status = statusOf(to);
  if (!status.ok || status.value.size <= size) return status.ok ? ok(status.value.size) : status;
  const cut = setLength(to, size);
  return cut.ok ? ok(size) : cut;
}

/** Copies a file that has holes: its data alone. */
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
    // The file system does not tell, or the file shrank between the two questions.
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

/** Copies `length` bytes, or up to the end of the file, from position to position. */
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
    // Some file systems copy nothing and call it the end, and an error does not say which side it is of: reading tells.
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
