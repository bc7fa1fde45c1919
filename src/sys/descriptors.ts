/** Descriptors: how one may be used, which programs inherit it, and closing it. */

import { done, type Posix } from "./errors.ts";
import { callsOf, SIZE } from "./library.ts";
import { O_ACCMODE, O_PATH, O_RDONLY, O_WRONLY } from "./open-flags.ts";
import { MACOS } from "./platform.ts";

/** The number of an open file. */
export type Descriptor = number;

const libc = callsOf({
  close: { args: ["i32"], returns: "i32" },
  ioctl: { args: ["i32", SIZE, "i32"], returns: "i32" },
  fcntl: { args: ["i32", "i32"], returns: "i32" },
});

/** Neither command takes a further argument. */
const FIOCLEX = MACOS ? 0x2000_6601 : 0x5451;
const F_GETFL = 3;

/** Closes a descriptor. The number is free whatever this returns. */
export function close(descriptor: Descriptor): void {
  libc()?.close(descriptor);
}

/** Keeps programs that are started from now on from inheriting `descriptor`. */
export function setCloseOnExec(descriptor: Descriptor): Posix<void> {
  return done(libc()?.ioctl(descriptor, FIOCLEX, 0));
}

/** Less than 0 if the descriptor is not open. */
function flagsOf(descriptor: Descriptor): number {
  return libc()?.fcntl(descriptor, F_GETFL) ?? -1;
}

/** Whether a descriptor was opened for reading, alone or with writing. */
export function isReadable(descriptor: Descriptor): boolean {
  const flags = flagsOf(descriptor);
  const isHeldOnly = !MACOS && (flags & O_PATH) !== 0;
  return flags >= 0 && !isHeldOnly && (flags & O_ACCMODE) !== O_WRONLY;
}

/** Whether a descriptor was opened for reading only. */
export function isReadOnly(descriptor: Descriptor): boolean {
  const flags = flagsOf(descriptor);
  return flags >= 0 && (flags & O_ACCMODE) === O_RDONLY;
}
