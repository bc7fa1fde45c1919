/** The bytes of an open file. */

import { ok } from "../result.ts";
import type { Descriptor } from "./descriptors.ts";
import { done, number, type Posix, uninterrupted } from "./errors.ts";
import { callsOf, LONG, linuxCallsOf, SIZE } from "./library.ts";
import { MACOS } from "./platform.ts";

const libc = callsOf({
  read: { args: ["i32", "ptr", SIZE], returns: LONG },
  write: { args: ["i32", "ptr", SIZE], returns: LONG },
  lseek: { args: ["i32", LONG, "i32"], returns: LONG },
  ftruncate: { args: ["i32", LONG], returns: "i32" },
});
const linux = linuxCallsOf({
  copy_file_range: { args: ["i32", "ptr", "i32", "ptr", SIZE, "u32"], returns: LONG },
  ioctl: { args: ["i32", SIZE, "i32"], returns: "i32" },
});

/** `_IOW(0x94, 9, int)`. */
const FICLONE = 0x4004_9409;

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

export function setLength(descriptor: Descriptor, length: number): Posix<void> {
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

/** Makes `to` hold what `from` holds, by sharing its storage (`FICLONE`). Linux, on few file systems; else an errno. */
export function cloneContent(from: Descriptor, to: Descriptor): Posix<void> {
  return done(linux()?.ioctl(to, FICLONE, from));
}
