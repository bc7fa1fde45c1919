/** The permissions and times of an open descriptor. */

import type { Descriptor } from "./descriptors.ts";
import { done, type Posix } from "./errors.ts";
import { callsOf } from "./library.ts";
import { fixedMemory } from "./names.ts";
import { MACOS } from "./platform.ts";

const libc = callsOf({
  fchmod: { args: ["i32", "u32"], returns: "i32" },
  futimens: { args: ["i32", "ptr"], returns: "i32" },
});

/** Unix time: whole seconds, which may be negative, and the nanoseconds after them. */
export interface Timestamp {
  readonly seconds: number;
  readonly nanoseconds: number;
}

export function setMode(descriptor: Descriptor, mode: number): Posix<void> {
  return done(libc()?.fchmod(descriptor, mode));
}

/** Two of `struct timespec`: the last access, then the last modification. */
const times = fixedMemory(32);
const UTIME_OMIT = MACOS ? -2 : 0x3fff_fffe;

/** Sets the time of the last modification. Leaves the time of the last access as it is. */
export function setModified(descriptor: Descriptor, { seconds, nanoseconds }: Timestamp): Posix<void> {
  times.view.setBigInt64(8, BigInt(UTIME_OMIT), true);
  times.view.setBigInt64(16, BigInt(seconds), true);
  times.view.setBigInt64(24, BigInt(nanoseconds), true);
  return done(libc()?.futimens(descriptor, times.at));
}
