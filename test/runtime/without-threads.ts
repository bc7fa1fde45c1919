/** Makes this process one that can start no further thread, for good. Linux only. */

import { dlopen } from "bun:ffi";
import { readFileSync } from "node:fs";

const RLIMIT_NPROC = 6;
const NOBODY = 65_534;

/** What its process must be started with: otherwise the engine itself may want another thread, and aborts without it. */
export const ENGINE_WITHOUT_THREADS = {
  BUN_JSC_useConcurrentJIT: "0",
  BUN_JSC_useConcurrentGC: "0",
  BUN_JSC_numberOfGCMarkers: "1",
};

/** Root is held to no number of threads, so that it becomes somebody else. */
export async function withoutThreads(): Promise<void> {
  for (const [name, value] of Object.entries(ENGINE_WITHOUT_THREADS)) {
    if (process.env[name] !== value) throw new Error(`this process was started without ${name}=${value}`);
  }
  const { symbols } = dlopen("libc.so.6", {
    setuid: { args: ["i32"], returns: "i32" },
    setrlimit: { args: ["i32", "ptr"], returns: "i32" },
  });
  // The threads that this runtime needs for itself are there by then.
  await Bun.file("/dev/null").text();
  readFileSync("/dev/null");
  if (process.getuid?.() === 0 && symbols.setuid(NOBODY) !== 0) throw new Error("setuid failed");
  if (symbols.setrlimit(RLIMIT_NPROC, new BigUint64Array([1n, 1n])) !== 0)
    throw new Error("setrlimit failed");
}
