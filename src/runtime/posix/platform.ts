/**
 * What the C library of this platform calls things: its file, its numbers, its structures.
 *
 * Linux (glibc 2.29 or later) on x64 and arm64, macOS on x64 and arm64. The values are the platforms' public headers'.
 */

export const MACOS = process.platform === "darwin";
const ARM64 = process.arch === "arm64";

export const LIBC = MACOS ? "libSystem.B.dylib" : "libc.so.6";

/** Open flags. Linux on arm64 numbers two of them otherwise than Linux on x64. */
export const O_RDONLY = 0;
export const O_WRONLY = 1;
export const O_RDWR = 2;
export const O_APPEND = MACOS ? 0x8 : 0x400;
export const O_NONBLOCK = MACOS ? 0x4 : 0x800;
export const O_NOFOLLOW = MACOS ? 0x100 : ARM64 ? 0x8000 : 0x2_0000;
export const O_DIRECTORY = MACOS ? 0x10_0000 : ARM64 ? 0x4000 : 0x1_0000;
export const O_CLOEXEC = MACOS ? 0x100_0000 : 0x8_0000;
export const O_CREAT = MACOS ? 0x200 : 0x40;
export const O_EXCL = MACOS ? 0x800 : 0x80;
export const O_NOCTTY = MACOS ? 0x2_0000 : 0x100;
/** Linux only: holds an entry without opening it, so that no permission on it is needed. */
export const O_PATH = 0x20_0000;

export const AT_FDCWD = MACOS ? -2 : -100;
export const AT_REMOVEDIR = MACOS ? 0x80 : 0x200;
export const AT_SYMLINK_NOFOLLOW = MACOS ? 0x20 : 0x100;
export const AT_EMPTY_PATH = 0x1000;
export const UTIME_OMIT = MACOS ? -2 : 0x3fff_fffe;
export const SEEK_SET = 0;
export const SEEK_DATA = MACOS ? 4 : 3;
export const SEEK_HOLE = MACOS ? 3 : 4;
export const FIOCLEX = MACOS ? 0x2000_6601 : 0x5451;
export const F_GETFL = 3;
export const O_ACCMODE = 3;
/** Linux: `_IOW(0x94, 9, int)`. */
export const FICLONE = 0x4004_9409;
/** Linux: every status field that a kernel has without asking further (`STATX_BASIC_STATS`). */
export const STATX_BASIC_STATS = 0x7ff;
/** Linux: the number of `getdents64`, which older C libraries do not wrap. */
export const SYS_GETDENTS64 = ARM64 ? 61 : 217;
/** macOS on x64 keeps the calls on 64-bit inodes under names of their own. */
export const INODE64 = MACOS && !ARM64 ? "$INODE64" : "";

/** What an entry is. `unknown`: the file system does not tell in a listing; ask for its status. */
export type Kind = "file" | "directory" | "link" | "fifo" | "socket" | "device" | "unknown";

/** By the four bits that both a mode (`S_IFMT`, shifted) and a directory entry (`d_type`) hold. */
const KINDS: readonly (Kind | undefined)[] = [
  "unknown",
  "fifo",
  "device",
  undefined,
  "directory",
  undefined,
  "device",
  undefined,
  "file",
  undefined,
  "link",
  undefined,
  "socket",
];

export function kindOf(type: number): Kind {
  return KINDS[type] ?? "unknown";
}

/** An entry's status at one moment. */
export interface Status {
  readonly kind: Kind;
  /** The twelve permission bits. */
  readonly mode: number;
  readonly owner: number;
  /** Together with `inode`, what the entry is whatever its name. */
  readonly device: number;
  readonly inode: bigint;
  /** Bytes of content, and bytes of storage behind them. */
  readonly size: number;
  readonly allocated: number;
  readonly modified: Timestamp;
}

/** Unix time: whole seconds, also below zero, and the nanoseconds after them. */
export interface Timestamp {
  readonly seconds: number;
  readonly nanoseconds: number;
}

/** The bytes that a status takes; room enough for both platforms. */
export const STATUS_BYTES = 256;

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

export const readStatus = MACOS ? macosStatus : linuxStatus;
