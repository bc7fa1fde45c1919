/** A child process that this one holds: whether it has exited, its status, and a signal to it and nobody else. */

import { FFIType } from "bun:ffi";
import { constants } from "node:os";
import { fault, ok } from "../result.ts";
import { type Descriptor, done, interrupted, lastFault, library, libc, type Posix } from "./libc.ts";
import { MACOS } from "./platform.ts";

const long = FFIType.i64_fast;
const calls = library({
  kill: { args: ["i32", "i32"], returns: "i32" },
  waitpid: { args: ["i32", "ptr", "i32"], returns: "i32" },
});
const linux = MACOS
  ? undefined
  : library({ syscall: { args: [long, long, long, FFIType.ptr, long], returns: long } });

/** The same numbers on Linux for x64 and arm64. */
const SYS_PIDFD_SEND_SIGNAL = 424;
const SYS_PIDFD_OPEN = 434;
const WNOHANG = 1;

/** How a process ended, as its parent hears it: a status, or the number of a signal. */
export type Wait =
  | { readonly kind: "exited"; readonly status: number }
  | { readonly kind: "signaled"; readonly number: number };

/**
 * A descriptor that can be read once the process has exited, though it may not be reaped yet; close-on-exec. Linux from
 * 5.3. Open it before the process is waited for: until then no other has its number.
 */
export function openProcess(pid: number): Posix<Descriptor> {
  if (!linux) return fault("ENOSYS");
  const opened = Number(linux.syscall(SYS_PIDFD_OPEN, pid, 0, null, 0));
  return opened < 0 ? lastFault() : ok(opened);
}

export function closeProcess(held: Descriptor): void {
  libc.close(held);
}

const status = new Int32Array(1);

/**
 * Reaps a child that has exited. `undefined`: there is nothing to collect yet, be it that it runs, be it that a tracer
 * holds it. `ECHILD`: it is gone, and its status with it.
 */
export function collect(pid: number): Posix<Wait | undefined> {
  for (;;) {
    const reaped = calls.waitpid(pid, status, WNOHANG);
    if (reaped === 0) return ok(undefined);
    if (reaped > 0) return ok(read(status[0] ?? 0));
    if (!interrupted()) return lastFault();
  }
}

function read(raw: number): Wait {
  const number = raw & 0x7f;
  return number === 0 ? { kind: "exited", status: (raw >> 8) & 0xff } : { kind: "signaled", number };
}

/**
 * Signals a child that has not been reaped: by the descriptor that holds it where there is one, which can never be
 * another process by now.
 */
export function signalProcess(
  pid: number,
  held: Descriptor | undefined,
  signal: "SIGTERM" | "SIGKILL",
): Posix<void> {
  const number = constants.signals[signal];
  if (!linux || held === undefined) return done(calls.kill(pid, number));
  return done(Number(linux.syscall(SYS_PIDFD_SEND_SIGNAL, held, number, null, 0)));
}
