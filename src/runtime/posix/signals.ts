/**
 * What this process inherited of signals from whoever started it.
 *
 * A mask needs nothing: where SIGTERM was blocked, a thread of Bun's takes it all the same, and its handler runs.
 */

import { constants } from "node:os";
import { ok } from "../result.ts";
import { done, library, type Posix } from "./libc.ts";
import { MACOS } from "./platform.ts";

const calls = library({
  sigaction: { args: ["i32", "ptr", "ptr"], returns: "i32" },
});

/** `struct sigaction`: the handler first; then on Linux the mask and the flags, on macOS a shorter mask and the flags. */
const ACTION_BYTES = 256;
const FLAGS_AT = MACOS ? 12 : 136;
const SA_NOCLDWAIT = MACOS ? 0x20 : 0x2;
const SIG_DFL = 0n;
const SIG_IGN = 1n;

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
