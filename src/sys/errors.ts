/** The result of a system call: a value, or the name of its error. A system error never throws. */

import { constants } from "node:os";
import { describeErrno } from "../os-error.ts";
import { fault, ok, type Result } from "../result.ts";
import { errno } from "./library.ts";

/** The name of an error: `ENOENT`. `EUNKNOWN` is an error that is not in this platform's list. */
export type Errno = keyof typeof constants.errno | "EUNKNOWN";

/** Also `ENOSYS` if the C library cannot be called (`libraryFault`), or has no such function. */
export type Posix<T> = Result<T, Errno>;

/** An error in the words an operator knows: `Permission denied (os error 13)`. */
export function describeError(errno: Errno): string {
  return errno === "EUNKNOWN" ? "An unknown error" : describeErrno(errno, constants.errno[errno]);
}

const NAMES = new Map<number, Errno>();
for (const [name, number] of Object.entries(constants.errno)) {
  // Some numbers have two names (EAGAIN, EWOULDBLOCK). The first is the usual one.
  if (!NAMES.has(number)) NAMES.set(number, name as Errno);
}

const FAULTS = new Map<number, Result<never, Errno>>();

/** The fault for an error number, for a call that returns the number. */
export function faultOf(number: number): Result<never, Errno> {
  let known = FAULTS.get(number);
  if (!known) {
    known = fault(NAMES.get(number) ?? "EUNKNOWN");
    FAULTS.set(number, known);
  }
  return known;
}

/** The error of the call just made. */
export function lastFault(): Result<never, Errno> {
  return faultOf(errno());
}

/** This platform has no such call. */
export const NO_CALL: Result<never, Errno> = fault("ENOSYS");

const DONE: Posix<void> = ok(undefined);

/** For a call that returns less than 0 when it fails, and nothing else of use. `undefined`: it was not made. */
export function done(returned: number | undefined): Posix<void> {
  if (returned === undefined) return NO_CALL;
  return returned < 0 ? lastFault() : DONE;
}

/** The same for a call whose returned number matters. */
export function number(returned: number | bigint | undefined): Posix<number> {
  if (returned === undefined) return NO_CALL;
  return returned < 0 ? lastFault() : ok(Number(returned));
}

const { EINTR } = constants.errno;

/** The same for a call that is repeated as long as a signal interrupts it. */
export function uninterrupted(call: () => number | bigint | undefined): Posix<number> {
  for (;;) {
    const returned = call();
    if (returned === undefined) return NO_CALL;
    if (returned >= 0) return ok(Number(returned));
    if (errno() !== EINTR) return lastFault();
  }
}
