/** Makes this process one that can start no further thread, for good. Linux only. */

import { dlopen } from "bun:ffi";
import { readFileSync } from "node:fs";

const RLIMIT_NPROC = 6;
const NOBODY = 65_534;

/** What the program's environment needs. Bun ends it if the garbage collector cannot start a thread of its own. */
export const WITHOUT_COLLECTOR_THREAD = { BUN_JSC_useConcurrentGC: "0" };

/** Root is held to no number of threads, so that it becomes somebody else. */
export async function withoutThreads(): Promise<void> {
  const { symbols } = dlopen("libc.so.6", {
    setuid: { args: ["i32"], returns: "i32" },
    setrlimit: { args: ["i32", "ptr"], returns: "i32" },
  });
  // The threads that this runtime needs for itself are there by then.
  await Bun.file("/dev/null").text();
  readFileSync("/dev/null");
  if (process.getuid?.() === 0) symbols.setuid(NOBODY);
  symbols.setrlimit(RLIMIT_NPROC, new BigUint64Array([1n, 1n]));
}
