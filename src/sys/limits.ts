/** The resource limits of this process. */

import { callsOf } from "./library.ts";
import { MACOS } from "./platform.ts";

const libc = callsOf({
  setrlimit: { args: ["i32", "ptr"], returns: "i32" },
  getrlimit: { args: ["i32", "ptr"], returns: "i32" },
});

const RLIMIT_CORE = 4;
const RLIMIT_NOFILE = MACOS ? 8 : 7;

/** `struct rlimit`: the current limit, and the highest that it may be set to; 64 bits each on both platforms. */
const limit = new BigUint64Array(2);

/** Turns off core dumps of this process for good. Returns whether it worked. */
export function denyCoreDumps(): boolean {
  limit.fill(0n);
  return libc()?.setrlimit(RLIMIT_CORE, limit) === 0;
}

/** How many descriptors this process may hold, or 0 if that is unknown. */
export function descriptorLimit(): number {
  return libc()?.getrlimit(RLIMIT_NOFILE, limit) === 0 ? Number(limit[0]) : 0;
}
