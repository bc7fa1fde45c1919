/** Pipes, and what a descriptor may be used for. */

import { ok } from "../result.ts";
import { type Descriptor, done, libc, linux, type Posix } from "./libc.ts";
import { F_GETFL, FIOCLEX, MACOS, O_ACCMODE, O_CLOEXEC, O_PATH, O_RDONLY, O_WRONLY } from "./platform.ts";

/** A pipe, close-on-exec on both ends. Linux makes it so at once; macOS a moment after. */
export function openPipe(): Posix<{ readonly readEnd: Descriptor; readonly writeEnd: Descriptor }> {
  const ends = new Int32Array(2);
  const made = done(linux ? linux.pipe2(ends, O_CLOEXEC) : libc.pipe(ends));
  if (!made.ok) return made;
  const [readEnd = -1, writeEnd = -1] = ends;
  if (MACOS) {
    setCloseOnExec(readEnd);
    setCloseOnExec(writeEnd);
  }
  return ok({ readEnd, writeEnd });
}

/** No program started from now on inherits `descriptor`. */
export function setCloseOnExec(descriptor: Descriptor): Posix<void> {
  return done(libc.ioctl(descriptor, FIOCLEX, 0));
}

/** Whether a descriptor was opened so that it can be read. */
export function isReadable(descriptor: Descriptor): boolean {
  const flags = libc.fcntl(descriptor, F_GETFL);
  const isHeldOnly = !MACOS && (flags & O_PATH) !== 0;
  return flags >= 0 && !isHeldOnly && (flags & O_ACCMODE) !== O_WRONLY;
}

/** Whether a descriptor was opened for reading and nothing else. */
export function isReadOnly(descriptor: Descriptor): boolean {
  const flags = libc.fcntl(descriptor, F_GETFL);
  return flags >= 0 && (flags & O_ACCMODE) === O_RDONLY;
}
