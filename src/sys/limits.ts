/** What this process may use at most. */

import { callsOf, MACOS } from "./library.ts";

const libc = callsOf({
  setrlimit: { args: ["i32", "ptr"], returns: "i32" },
  getrlimit: { args: ["i32", "ptr"], returns: "i32" },
});

const RLIMIT_CORE = 4;
const RLIMIT_NOFILE = MACOS ? 8 : 7;

/** `struct rlimit`: the limit that holds, and the highest that it may be set to; 64 bits each on both platforms. */
const limit = new BigUint64Array(2);

/** No core dump of this process, ever. Whether it worked. */
export function denyCoreDumps(): boolean {
  limit.fill(0n);
  return libc()?.setrlimit(RLIMIT_CORE, limit) === 0;
}

/** How many descriptors this process may hold; 0 where that cannot be told. */
export function descriptorLimit(): number {
  return libc()?.getrlimit(RLIMIT_NOFILE, limit) === 0 ? Number(limit[0]) : 0;
}
