/** Descriptors: what one may be used for, who inherits it, and its end. */

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

/** Neither takes a further argument. */
const FIOCLEX = MACOS ? 0x2000_6601 : 0x5451;
const F_GETFL = 3;

/** Closes a descriptor; whatever it returns, the number is free. */
export function close(descriptor: Descriptor): void {
  libc()?.close(descriptor);
}

/** No program started from now on inherits `descriptor`. */
export function setCloseOnExec(descriptor: Descriptor): Posix<void> {
  return done(libc()?.ioctl(descriptor, FIOCLEX, 0));
}

/** Less than 0 where it is not open. */
function flagsOf(descriptor: Descriptor): number {
  return libc()?.fcntl(descriptor, F_GETFL) ?? -1;
}

/** Whether a descriptor was opened so that it can be read. */
export function isReadable(descriptor: Descriptor): boolean {
  const flags = flagsOf(descriptor);
  const isHeldOnly = !MACOS && (flags & O_PATH) !== 0;
  return flags >= 0 && !isHeldOnly && (flags & O_ACCMODE) !== O_WRONLY;
}

/** Whether a descriptor was opened for reading and nothing else. */
export function isReadOnly(descriptor: Descriptor): boolean {
  const flags = flagsOf(descriptor);
  return flags >= 0 && (flags & O_ACCMODE) === O_RDONLY;
}
