/** The bytes of an open file. */

import { fault, ok } from "../result.ts";
import { type Descriptor, done, interrupted, lastFault, libc, linux, type Posix } from "./libc.ts";
import { FICLONE, SEEK_DATA, SEEK_HOLE, SEEK_SET } from "./platform.ts";

/** Reads into `buffer`: the bytes read, 0 at the end of the file. */
export function read(descriptor: Descriptor, buffer: Uint8Array): Posix<number> {
  if (buffer.length === 0) return ok(0);
  for (;;) {
    const count = Number(libc.read(descriptor, buffer, buffer.length));
    if (count >= 0) return ok(count);
    if (!interrupted()) return lastFault();
  }
}

/** Writes of `buffer` what the system takes at once: the bytes written. */
export function write(descriptor: Descriptor, buffer: Uint8Array): Posix<number> {
  if (buffer.length === 0) return ok(0);
  for (;;) {
    const count = Number(libc.write(descriptor, buffer, buffer.length));
    if (count >= 0) return ok(count);
    if (!interrupted()) return lastFault();
  }
}

export function setLength(descriptor: Descriptor, length: number): Posix<void> {
  return done(libc.ftruncate(descriptor, length));
}

const WHENCE = { start: SEEK_SET, data: SEEK_DATA, hole: SEEK_HOLE } as const;

/**
 * Moves a file's position to `offset`, or to the first byte from there that is data, or a hole (the end counts as one).
 * `ENXIO`: there is none.
 */
export function seek(descriptor: Descriptor, offset: number, to: keyof typeof WHENCE): Posix<number> {
  const position = Number(libc.lseek(descriptor, offset, WHENCE[to]));
  return position < 0 ? lastFault() : ok(position);
}

/**
 * Copies within the kernel at most `length` bytes, from the one file's position to the other's: the bytes copied, 0 at
 * the end. `ENOSYS`, `EXDEV`, `EOPNOTSUPP`, `EINVAL` and others where it cannot between these two files.
 */
export function copyRange(from: Descriptor, to: Descriptor, length: number): Posix<number> {
  if (!linux) return fault("ENOSYS");
  for (;;) {
    const count = Number(linux.copy_file_range(from, null, to, null, length, 0));
    if (count >= 0) return ok(count);
    if (!interrupted()) return lastFault();
  }
}

/** Makes `to` hold what `from` holds, sharing its storage (`FICLONE`). Linux, and few file systems; else an errno. */
export function cloneContent(from: Descriptor, to: Descriptor): Posix<void> {
  return linux ? done(libc.ioctl(to, FICLONE, from)) : fault("ENOSYS");
}
