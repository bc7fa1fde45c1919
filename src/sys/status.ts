/** What kind an entry is, its status in the file system, and the entries that a directory lists. */

import { ptr, read, toArrayBuffer } from "bun:ffi";
import { ok } from "../result.ts";
import { seek, type Timestamp } from "./content.ts";
import { close, type Descriptor } from "./descriptors.ts";
import { type Name, named, openAgain } from "./entries.ts";
import {
  ARM64,
  clearErrno,
  done,
  errno,
  fixedMemory,
  LONG,
  lastFault,
  linuxCallsOf,
  MACOS,
  macosCallsOf,
  macosInodeCallsOf,
  NO_CALL,
  number,
  type Posix,
  SIZE,
} from "./library.ts";

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

function kindOf(type: number): Kind {
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
  return named(name, (at) => {
    const asked = MACOS
      ? macos()?.fstatat(directory, at, status.at, AT_SYMLINK_NOFOLLOW)
      : linux()?.statx(directory, at, AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS, status.at);
    return answered(done(asked));
  });
}

function answered(asked: Posix<undefined>): Posix<Status> {
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

/** The number of `getdents64`, which older C libraries do not wrap. */
const SYS_GETDENTS64 = ARM64 ? 61 : 217;
const listing = linuxCallsOf({ syscall: { args: [LONG, "i32", "ptr", SIZE], returns: LONG } });
const streams = macosInodeCallsOf({
  fdopendir: { args: ["i32"], returns: "ptr" },
  readdir: { args: ["ptr"], returns: "ptr" },
});
const closing = macosCallsOf({ closedir: { args: ["ptr"], returns: "i32" } });

/** One entry as the directory lists it. By the time it is opened it may be another, or gone. */
export interface Entry {
  readonly name: Name;
  readonly kind: Kind;
}

/** Every entry but `.` and `..`, in the order of their names' bytes. */
export function listDirectory(directory: Descriptor): Posix<Entry[]> {
  const entries = MACOS ? listMacos(directory) : listLinux(directory);
  return entries.ok ? ok(inOrder(entries.value)) : entries;
}

/** Sorts them by name. The system lists an entry twice if it was removed and made again meanwhile: one of them stays. */
export function inOrder(entries: Entry[]): Entry[] {
  entries.sort((a, b) => Buffer.compare(a.name, b.name));
  return entries.filter(({ name }, at) => {
    const before = entries[at - 1];
    return !before || Buffer.compare(before.name, name) !== 0;
  });
}

const DOT = 0x2e;

function isSelfOrParent(name: Name): boolean {
  return name[0] === DOT && (name.length === 1 || (name.length === 2 && name[1] === DOT));
}

const buffer = new Uint8Array(new ArrayBuffer(64 * 1024));
const bufferAt = ptr(buffer);
const bufferView = new DataView(buffer.buffer);

/** `struct linux_dirent64`: its length at 16, its type at 18, its name from 19 to a NUL. */
function listLinux(directory: Descriptor): Posix<Entry[]> {
  const rewound = seek(directory, 0, "start");
  if (!rewound.ok) return rewound;
  const entries: Entry[] = [];
  for (;;) {
    const filled = number(listing()?.syscall(SYS_GETDENTS64, directory, bufferAt, buffer.length));
    if (!filled.ok) return filled;
    if (filled.value === 0) return ok(entries);
    for (let at = 0; at < filled.value; at += bufferView.getUint16(at + 16, true)) {
      const name = buffer.slice(at + 19, buffer.indexOf(0, at + 19));
      if (!isSelfOrParent(name)) entries.push({ name, kind: kindOf(buffer[at + 18] ?? 0) });
    }
  }
}

/** `struct dirent` with 64-bit inodes: its name's length at 18, its type at 20, its name from 21. */
function listMacos(directory: Descriptor): Posix<Entry[]> {
  const [calls, last] = [streams(), closing()];
  if (!calls || !last) return NO_CALL;
  // The stream takes over its descriptor and closes it. So it gets a new one, which also starts at the first entry.
  const fresh = openAgain(directory);
  if (!fresh.ok) return fresh;
  const stream = calls.fdopendir(fresh.value);
  if (stream === null) {
    const failed = lastFault();
    close(fresh.value);
    return failed;
  }
  const entries: Entry[] = [];
  for (;;) {
    clearErrno();
    const entry = calls.readdir(stream);
    if (typeof entry !== "number") break;
    const name = new Uint8Array(toArrayBuffer(entry, 21, read.u16(entry, 18))).slice();
    if (!isSelfOrParent(name)) entries.push({ name, kind: kindOf(read.u8(entry, 20)) });
  }
  const listed = errno() === 0 ? ok(entries) : lastFault();
  last.closedir(stream);
  return listed;
}
