/** Signals that the runtime cannot ignore for us: its handlers do not do, because the call that raised one is made again. */

import { constants } from "node:os";
import { callsOf } from "./library.ts";

const libc = callsOf({ signal: { args: ["i32", "usize"], returns: "usize" } });

const SIG_IGN = 1n;
const SIG_ERR = 2n ** 64n - 1n;

/**
 * A terminal may be set to stop a process that writes to it from the background (`stty tostop`). From now on writing does
 * not stop this one. Whether that worked.
 */
export function ignoreTerminalStops(): boolean {
  const calls = libc();
  return calls !== undefined && BigInt(calls.signal(constants.signals.SIGTTOU, SIG_IGN)) !== SIG_ERR;
}
