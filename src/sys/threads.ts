/** Tells whether this process may have the threads that the runtime will need. */

import { type Pointer, ptr } from "bun:ffi";
import { readdirSync } from "node:fs";
import { linuxCallsOf } from "./library.ts";

const linux = linuxCallsOf({
  sem_init: { args: ["ptr", "i32", "u32"], returns: "i32" },
  sem_post: { args: ["ptr"], returns: "i32" },
  sem_wait: { args: ["ptr"], returns: "i32" },
  pthread_create: { args: ["ptr", "ptr", "ptr", "ptr"], returns: "i32" },
  pthread_join: { args: ["u64", "ptr"], returns: "i32" },
});

const SEMAPHORE_BYTES = 32;

/** Every bound function has its address, which the types do not show. */
type Addressed = { readonly ptr: Pointer };

/**
 * Linux: how many threads this process can have, including its present ones. At most `wanted` are tried. They all run
 * at once, and have ended when this returns. There is no other way to know, because the limit counts the threads of all
 * processes of the user, even in other containers. Elsewhere, and if the C library cannot be called, the answer is
 * `wanted`.
 */
export function threadsToBeHad(wanted: number): number {
  const calls = linux();
  if (!calls) return wanted;
  const more = Math.max(0, wanted - readdirSync("/proc/self/task").length);
  const wait = (calls.sem_wait as unknown as Addressed).ptr;
  const semaphore = ptr(new Uint8Array(SEMAPHORE_BYTES));
  const threads = new BigUint64Array(more);
  calls.sem_init(semaphore, 0, 0);
  let had = 0;
  // Each waits until all have started. It runs nothing but a function of the C library.
  while (had < more && calls.pthread_create(ptr(threads, had * 8), null, wait, semaphore) === 0) had++;
  for (let index = 0; index < had; index++) calls.sem_post(semaphore);
  for (const thread of threads.subarray(0, had)) calls.pthread_join(thread, null);
  return wanted - more + had;
}
