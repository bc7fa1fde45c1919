/** What kind an entry is, and its status in the file system. */

import { ok } from "../result.ts";
import type { Timestamp } from "./attributes.ts";
import type { Descriptor } from "./descriptors.ts";
import { done, type Posix } from "./errors.ts";
import { linuxCallsOf, macosInodeCallsOf } from "./library.ts";
import { fixedMemory, INVALID, type Name, placeName } from "./names.ts";
import { MACOS } from "./platform.ts";

const linux = linuxCallsOf({ statx: { args: ["i32", "ptr", "i32", "u32", "ptr"], returns: "i32" } });
const macos = macosInodeCallsOf({
  fstat: { args: ["i32", "ptr"], returns: "i32" },
  fstatat: { args: ["i32", "ptr", "ptr", "i32"], returns: "i32" },
});

/** Linux. */
const AT_EMPTY_PATH = 0x1000;
const AT_SYMLINK_NOFOLLOW = MACOS ? 0x20 : 0x100;
/** Linux: every status field that a kernel has without further work (`STATX_BASIC_STATS`). */
const STATX_BASIC_STATS = 0x7ff;

/** The kind of an entry. `unknown`: the file system does not say in a listing, so ask for its status. */
export type Kind = "file" | "directory" | "link" | "fifo" | "socket" | "device" | "unknown";

/** By the four bits that a mode (`S_IFMT`, shifted) and a directory entry (`d_type`) share. */
const KINDS: ReadonlyMap<number, Kind> = new Map([
  [1, "fifo"],
  [2, "device"],
  [4, "directory"],
  [6, "device"],
  [8, "file"],
  [10, "link"],
  [12, "socket"],
]);

export function kindOf(type: number): Kind {
  return KINDS.get(type) ?? "unknown";
}

/** An entry's status at one moment. */
export interface Status {
  readonly kind: Kind;
  /** The twelve permission bits. */
  readonly mode: number;
  readonly owner: number;
  /** Together with `inode`, identifies the entry whatever its name. */
  readonly device: number;
  readonly inode: bigint;
  /** Bytes of content, and bytes of storage used for them. */
  readonly size: number;
  readonly allocated: number;
  readonly modified: Timestamp;
}

/** Enough room for the structure of either platform. */
const status = fixedMemory(256);
const empty = fixedMemory(1);

/** The status of an open descriptor. */
export function statusOf(descriptor: Descriptor): Posix<Status> {
  const asked = MACOS
    ? macos()?.fstat(descriptor, status.at)
    : linux()?.statx(descriptor, empty.at, AT_EMPTY_PATH, STATX_BASIC_STATS, status.at);
  return answered(done(asked));
}

/** The status of an entry itself. For a link: of the link. */
export function statusAt(directory: Descriptor, name: Name): Posix<Status> {
  const at = placeName(name);
  if (at === undefined) return INVALID;
  const asked = MACOS
    ? macos()?.fstatat(directory, at, status.at, AT_SYMLINK_NOFOLLOW)
    : linux()?.statx(directory, at, AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS, status.at);
  return answered(done(asked));
}

function answered(asked: Posix<void>): Posix<Status> {
  if (!asked.ok) return asked;
  return ok(MACOS ? macosStatus(status.view) : linuxStatus(status.view));
}

/** `struct statx` of Linux, one layout for every architecture. */
function linuxStatus(raw: DataView): Status {
  const mode = raw.getUint16(28, true);
  return {
    kind: kindOf(mode >> 12),
    mode: mode & 0o7777,
    owner: raw.getUint32(20, true),
    device: raw.getUint32(136, true) * 2 ** 32 + raw.getUint32(140, true),
    inode: raw.getBigUint64(32, true),
    size: Number(raw.getBigUint64(40, true)),
    allocated: Number(raw.getBigUint64(48, true)) * 512,
    modified: { seconds: Number(raw.getBigInt64(112, true)), nanoseconds: raw.getUint32(120, true) },
  };
}

/** `struct stat` of macOS with 64-bit inodes. */
function macosStatus(raw: DataView): Status {
  const mode = raw.getUint16(4, true);
  return {
    kind: kindOf(mode >> 12),
    mode: mode & 0o7777,
    owner: raw.getUint32(16, true),
    device: raw.getInt32(0, true),
    inode: raw.getBigUint64(8, true),
    size: Number(raw.getBigInt64(96, true)),
    allocated: Number(raw.getBigInt64(104, true)) * 512,
    modified: { seconds: Number(raw.getBigInt64(48, true)), nanoseconds: Number(raw.getBigInt64(56, true)) },
  };
}
