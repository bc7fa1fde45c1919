/**
 * What this process does on signals where Bun's own handlers are not enough.
 *
 * A signal mask needs no handling: if SIGTERM is blocked, one of Bun's threads still receives it, and the handler runs.
 */

import { constants } from "node:os";
import { ok } from "../result.ts";
import { done, type Posix } from "./errors.ts";
import { callsOf } from "./library.ts";
import { MACOS } from "./platform.ts";

const libc = callsOf({
  signal: { args: ["i32", "usize"], returns: "usize" },
  sigaction: { args: ["i32", "ptr", "ptr"], returns: "i32" },
});

const SIG_DFL = 0n;
const SIG_IGN = 1n;
const SIG_ERR = 2n ** 64n - 1n;

/**
 * A terminal may be set to stop a process that writes to it from the background (`stty tostop`). After this call,
 * writing does not stop this one. Returns whether that worked. A handler would not help, because the interrupted write
 * would be repeated.
 */
export function ignoreTerminalStops(): boolean {
  const calls = libc();
  return calls !== undefined && BigInt(calls.signal(constants.signals.SIGTTOU, SIG_IGN)) !== SIG_ERR;
}

/**
 * `struct sigaction`: first the handler, then on Linux the mask and the flags, on macOS a shorter mask and the flags.
 */
const ACTION_BYTES = 256;
const FLAGS_AT = MACOS ? 12 : 136;
const SA_NOCLDWAIT = MACOS ? 0x20 : 0x2;

/**
 * Makes sure that a child's exit status is kept until it is collected. If the program that started this process ignored
 * SIGCHLD, this process does too, because that survives exec. The kernel would then throw the status away. An existing
 * handler is kept.
 */
export function keepExitStatuses(): Posix<void> {
  const bytes = new Uint8Array(ACTION_BYTES);
  const action = new DataView(bytes.buffer);
  const got = done(libc()?.sigaction(constants.signals.SIGCHLD, null, bytes));
  if (!got.ok) return got;
  const ignored = action.getBigUint64(0, true) === SIG_IGN;
  const flags = action.getInt32(FLAGS_AT, true);
  if (!ignored && (flags & SA_NOCLDWAIT) === 0) return ok(undefined);
  if (ignored) action.setBigUint64(0, SIG_DFL, true);
  action.setInt32(FLAGS_AT, flags & ~SA_NOCLDWAIT, true);
  return done(libc()?.sigaction(constants.signals.SIGCHLD, bytes, null));
}
