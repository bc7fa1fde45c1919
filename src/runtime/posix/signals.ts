/** What signals do to this process. */

import { constants } from "node:os";
import { ok } from "../result.ts";
import { done, library, type Posix } from "./libc.ts";
import { MACOS } from "./platform.ts";

const calls = library({
  sigaction: { args: ["i32", "ptr", "ptr"], returns: "i32" },
  pthread_sigmask: { args: ["i32", "ptr", "ptr"], returns: "i32" },
  sigemptyset: { args: ["ptr"], returns: "i32" },
  sigaddset: { args: ["ptr", "i32"], returns: "i32" },
});

/** Room for a `sigset_t`: 128 bytes on Linux, 4 on macOS. */
export const SIGNAL_SET_BYTES = 128;
/** `struct sigaction`: the handler first; then on Linux the mask and the flags, on macOS a shorter mask and the flags. */
const ACTION_BYTES = 256;
const FLAGS_AT = MACOS ? 12 : 136;
const SA_NOCLDWAIT = MACOS ? 0x20 : 0x2;
const SIG_DFL = 0n;
const SIG_IGN = 1n;
const SIG_UNBLOCK = MACOS ? 2 : 1;

/**
 * Sees to it that the exit status of a child is kept until it is collected. A process whose starter ignored SIGCHLD
 * ignores it too, for that survives exec, and the kernel then throws the status away. A handler that is there stays.
 */
export function keepExitStatuses(): Posix<void> {
  const bytes = new Uint8Array(ACTION_BYTES);
  const action = new DataView(bytes.buffer);
  const got = done(calls.sigaction(constants.signals.SIGCHLD, null, bytes));
  if (!got.ok) return got;
  const ignored = action.getBigUint64(0, true) === SIG_IGN;
  const flags = action.getInt32(FLAGS_AT, true);
  if (!ignored && (flags & SA_NOCLDWAIT) === 0) return ok(undefined);
  if (ignored) action.setBigUint64(0, SIG_DFL, true);
  action.setInt32(FLAGS_AT, flags & ~SA_NOCLDWAIT, true);
  return done(calls.sigaction(constants.signals.SIGCHLD, bytes, null));
}

/** Lets the signals that ask this process to end reach it: a mask that blocks them survives exec too. */
export function admitTermination(): void {
  const set = new Uint8Array(SIGNAL_SET_BYTES);
  calls.sigemptyset(set);
  calls.sigaddset(set, constants.signals.SIGTERM);
  calls.sigaddset(set, constants.signals.SIGINT);
  calls.pthread_sigmask(SIG_UNBLOCK, set, null);
}
