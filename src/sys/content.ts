/** An open file: its bytes, its permissions and its time. */

import { ok } from "../result.ts";
import type { Descriptor } from "./descriptors.ts";
import {
  callsOf,
  done,
  LONG,
  linuxCallsOf,
  MACOS,
  number,
  type Posix,
  SIZE,
  uninterrupted,
} from "./library.ts";

const libc = callsOf({
  read: { args: ["i32", "ptr", SIZE], returns: LONG },
  write: { args: ["i32", "ptr", SIZE], returns: LONG },
  lseek: { args: ["i32", LONG, "i32"], returns: LONG },
  ftruncate: { args: ["i32", LONG], returns: "i32" },
});
const attributes = callsOf({
  fchmod: { args: ["i32", "u32"], returns: "i32" },
  futimens: { args: ["i32", "ptr"], returns: "i32" },
});
const linux = linuxCallsOf({
  copy_file_range: { args: ["i32", "ptr", "i32", "ptr", SIZE, "u32"], returns: LONG },
  ioctl: { args: ["i32", SIZE, "i32"], returns: "i32" },
});

/** Reads into `buffer`. Returns the number of bytes read, 0 at the end of the file. */
export function read(descriptor: Descriptor, buffer: Uint8Array): Posix<number> {
  if (buffer.length === 0) return ok(0);
  return uninterrupted(() => libc()?.read(descriptor, buffer, buffer.length));
}

/** Writes as much of `buffer` as the system takes at once. Returns the number of bytes written. */
export function write(descriptor: Descriptor, buffer: Uint8Array): Posix<number> {
  if (buffer.length === 0) return ok(0);
  return uninterrupted(() => libc()?.write(descriptor, buffer, buffer.length));
}

export function writeAll(descriptor: Descriptor, bytes: Uint8Array): Posix<undefined> {
  for (let rest = bytes; rest.length > 0; ) {
    const count = write(descriptor, rest);
    if (!count.ok) return count;
    rest = rest.subarray(count.value);
  }
  return ok(undefined);
}

export function setLength(descriptor: Descriptor, length: number): Posix<undefined> {
  return done(libc()?.ftruncate(descriptor, length));
}

const WHENCE = { start: 0, data: MACOS ? 4 : 3, hole: MACOS ? 3 : 4 } as const;

/**
 * Moves a file's position to `offset`, or to the next data or hole from there (the end counts as a hole). `ENXIO`:
 * there is none.
 */
export function seek(descriptor: Descriptor, offset: number, to: keyof typeof WHENCE): Posix<number> {
  return number(libc()?.lseek(descriptor, offset, WHENCE[to]));
}

/**
 * Copies at most `length` bytes within the kernel, from one file's position to the other's. Returns the number of bytes
 * copied, 0 at the end. `ENOSYS`, `EXDEV`, `EOPNOTSUPP`, `EINVAL` and others if this is not possible between these two
 * files.
 */
export function copyRange(from: Descriptor, to: Descriptor, length: number): Posix<number> {
  return uninterrupted(() => linux()?.copy_file_range(from, null, to, null, length, 0));
}

/** `_IOW(0x94, 9, int)`. */
const FICLONE = 0x4004_9409;

/** Makes `to` hold what `from` holds, by sharing its storage (`FICLONE`). Linux, on few file systems; else an errno. */
export function cloneContent(from: Descriptor, to: Descriptor): Posix<undefined> {
  return done(linux()?.ioctl(to, FICLONE, from));
}

export function setMode(descriptor: Descriptor, mode: number): Posix<undefined> {
  return done(attributes()?.fchmod(descriptor, mode));
}

/** Unix time: whole seconds, which may be negative, and the nanoseconds after them. */
export interface Timestamp {
  readonly seconds: number;
  readonly nanoseconds: number;
}

/** Two of `struct timespec`: the last access, then the last modification. */
const times = new BigInt64Array(4);
const UTIME_OMIT = MACOS ? -2n : 0x3fff_fffen;

/** Sets the time of the last modification. Leaves the time of the last access as it is. */
export function setModified(descriptor: Descriptor, { seconds, nanoseconds }: Timestamp): Posix<undefined> {
  times.set([0n, UTIME_OMIT, BigInt(seconds), BigInt(nanoseconds)]);
  return done(attributes()?.futimens(descriptor, times));
}
