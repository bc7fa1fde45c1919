/**
 * Copies one file, in the fastest way that the two file systems offer: shared storage, else a copy within the kernel,
 * else through memory. Holes stay holes. At most as much is copied as the file held when it was opened, so copying a
 * growing file ends.
 */

import { fault, ok, type Result } from "../../result.ts";
import {
  cloneContent,
  copyRange,
  read,
  seek,
  setLength,
  setMode,
  setModified,
  writeAll,
} from "../../sys/content.ts";
import { close, type Descriptor } from "../../sys/descriptors.ts";
import {
  cloneFileAt,
  createFileAt,
  type Name,
  openForReadingAt,
  removeAt,
  setModeAt,
} from "../../sys/entries.ts";
import type { Errno, Posix } from "../../sys/library.ts";
import { type Status, statusOf } from "../../sys/status.ts";
import { ABORTED, type Copied, type Copy, failed, type Means, skipped, unreadable } from "./account.ts";

export function copyFile(copy: Copy, from: Descriptor, to: Descriptor, name: Name): Copied {
  const opened = openForReadingAt(from, name);
  if (!opened.ok) return unreadable(copy, name, opened.fault);
  try {
    const status = statusOf(opened.value);
    if (!status.ok) return unreadable(copy, name, status.fault);
    const { kind, size } = status.value;
    if (kind === "directory" || kind === "link" || kind === "unknown")
      return skipped(copy, name, "unreadable");
    if (kind !== "file") return skipped(copy, name, kind);
    if (copy.account.bytes + size > copy.task.ceiling) return fault({ kind: "ceiling" });
    return writeFile(copy, opened.value, status.value, to, name);
  } finally {
    close(opened.value);
  }
}

function writeFile(copy: Copy, from: Descriptor, status: Status, to: Descriptor, name: Name): Copied {
  const means = copy.means.get(status.device) ?? { clone: true, withinKernel: true };
  copy.means.set(status.device, means);
  const clone = cloneWhole(from, status, means, to, name);
  const created = clone.ok ? clone : createFileAt(to, name);
  if (!created.ok) return failed(copy, "made", [name], created.fault);
  try {
    let underWay = 0;
    const advance = (bytes: number) => {
      underWay += bytes;
      return copy.goOn(underWay);
    };
    const transfer = { from, to: created.value, means, advance };
    const copied = clone.ok ? ok(status.size) : copyContent(transfer, status);
    if (!copied.ok) {
      if (copied.fault.side === "abort") return ABORTED;
      if (copied.fault.side === "destination") return failed(copy, "written", [name], copied.fault.errno);
      const removed = removeAt(to, name);
      if (!removed.ok) return failed(copy, "removed", [name], removed.fault);
      return unreadable(copy, name, copied.fault.errno);
    }
    const set = finish(created.value, status);
    if (!set.ok) return failed(copy, "finished", [name], set.fault);
    copy.account.files++;
    copy.account.bytes += copied.value;
    return ok(undefined);
  } finally {
    close(created.value);
  }
}

/** The permission bits that are copied: no setuid, setgid or sticky bit. */
const RWX = 0o777;

/** Gives a copied file or directory the permissions and the time of its original. */
export function finish(descriptor: Descriptor, status: Status): Posix<undefined> {
  const set = setMode(descriptor, status.mode & RWX);
  return set.ok ? setModified(descriptor, status.modified) : set;
}

/** Up to this size one read and one write are faster than asking the kernel to copy or share. */
const SMALL_BYTES = 64 * 1024;
const WHILE_WRITTEN = 0o600;

/**
 * macOS: makes a new file that shares the storage of `from`, and opens it, with the size of `status`. Returns a fault
 * if that is not possible; then no file of that name is left.
 */
function cloneWhole(
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

/** The content of one file, on its way from one descriptor to the other. */
interface Transfer {
  readonly from: Descriptor;
  /** An empty file. */
  readonly to: Descriptor;
  readonly means: Means;
  /** Called with the number of bytes as they are copied. Returning `false` cancels the copy. */
  readonly advance: (bytes: number) => boolean;
}

/** The number of bytes copied; or why it stopped: an abort, or a fault at the source or at the destination. */
type Transferred = Result<
  number,
  { readonly side: "abort" } | { readonly side: "source" | "destination"; readonly errno: Errno }
>;

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

/** Copies a file whose status is given. Less than the status says if the file has shrunk. */
function copyContent(transfer: Transfer, { size, allocated }: Status): Transferred {
  const { from, to, means } = transfer;
  if (size <= SMALL_BYTES) return size === 0 ? ok(0) : throughMemory(transfer, size);
  if (means.clone) {
    const cloned = clone(from, to, size);
    if (cloned.ok) return cloned;
    if (REFUSALS.includes(cloned.fault)) means.clone = false;
  }
  return allocated < size ? copyData(transfer, size) : copyStretch(transfer, size);
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
function copyData(transfer: Transfer, size: number): Transferred {
  const { from, to } = transfer;
  for (let at = 0; at < size; ) {
    const data = seek(from, at, "data");
    if (!data.ok && data.fault === "ENXIO") break;
    const hole = data.ok ? seek(from, data.value, "hole") : data;
    // The file system does not say, or the file shrank between the two calls.
    const start = data.ok && hole.ok ? data.value : at;
    const end = data.ok && hole.ok ? Math.min(hole.value, size) : size;
    if (start >= end) break;
    const here = seek(from, start, "start");
    if (!here.ok) return fault({ side: "source", errno: here.fault });
    const there = seek(to, start, "start");
    if (!there.ok) return fault({ side: "destination", errno: there.fault });
    const copied = copyStretch(transfer, end - start);
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

/** How much is copied between two checks whether to continue: a few milliseconds' worth. */
const STRETCH_BYTES = 8 * 1024 * 1024;

/** Copies `length` bytes, or up to the end of the file, from the current position of each file. */
function copyStretch(transfer: Transfer, length: number): Transferred {
  const { from, to, means, advance } = transfer;
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
  const rest = throughMemory(transfer, left);
  return rest.ok ? ok(length - left + rest.value) : rest;
}

const buffer = new Uint8Array(new ArrayBuffer(256 * 1024));

function throughMemory({ from, to, advance }: Transfer, length: number): Transferred {
  let copied = 0;
  while (copied < length) {
    const filled = read(from, buffer.subarray(0, Math.min(length - copied, buffer.length)));
    if (!filled.ok) return fault({ side: "source", errno: filled.fault });
    if (filled.value === 0) break;
    const written = writeAll(to, buffer.subarray(0, filled.value));
    if (!written.ok) return fault({ side: "destination", errno: written.fault });
    copied += filled.value;
    if (!advance(filled.value)) return fault({ side: "abort" });
  }
  return ok(copied);
}
