/** This process: what others may see of it, what its limits allow, and what a terminal may do to it. */

import { type Pointer, ptr, toArrayBuffer } from "bun:ffi";
import { readdirSync } from "node:fs";
import { constants } from "node:os";
import { callsOf, linuxCallsOf, MACOS, macosCallsOf } from "./library.ts";

const linux = linuxCallsOf({ prctl: { args: ["i32", "u64", "u64", "u64", "u64"], returns: "i32" } });
const macos = macosCallsOf({ ptrace: { args: ["i32", "i32", "ptr", "i32"], returns: "i32" } });
const environment = callsOf({
  getenv: { args: ["ptr"], returns: "ptr" },
  setenv: { args: ["ptr", "ptr", "i32"], returns: "i32" },
  unsetenv: { args: ["ptr"], returns: "i32" },
});
const limits = callsOf({
  setrlimit: { args: ["i32", "ptr"], returns: "i32" },
  getrlimit: { args: ["i32", "ptr"], returns: "i32" },
});
/**
 * Only the action of a signal is set here. A blocked SIGTERM needs no call, because one of Bun's threads still receives
 * it.
 */
const signals = callsOf({ signal: { args: ["i32", "usize"], returns: "usize" } });
const threading = linuxCallsOf({
  sem_init: { args: ["ptr", "i32", "u32"], returns: "i32" },
  sem_post: { args: ["ptr"], returns: "i32" },
  sem_wait: { args: ["ptr"], returns: "i32" },
  pthread_create: { args: ["ptr", "ptr", "ptr", "ptr"], returns: "i32" },
  pthread_join: { args: ["u64", "ptr"], returns: "i32" },
});

const PR_SET_DUMPABLE = 4;
const PT_DENY_ATTACH = 31;

/** Closes this process's memory and environment to other processes of the same user. Returns whether it worked. */
export function denyInspection(): boolean {
  if (MACOS) return macos()?.ptrace(PT_DENY_ATTACH, 0, null, 0) === 0;
  return linux()?.prctl(PR_SET_DUMPABLE, 0n, 0n, 0n, 0n) === 0;
}

/**
 * Turns off Bun's crash reporter, which starts a program that sends what it knows. It reads the C library's environment
 * at the time of the crash, and a change of `process.env` does not reach that. Returns whether it is off now.
 */
export function silenceCrashReporter(): boolean {
  const calls = environment();
  if (!calls) return false;
  const text = (value: string) => Buffer.from(`${value}\u0000`);
  return (
    calls.setenv(text("BUN_ENABLE_CRASH_REPORTING"), text("0"), 1) === 0 &&
    calls.setenv(text("DO_NOT_TRACK"), text("1"), 1) === 0 &&
    calls.unsetenv(text("BUN_CRASH_REPORT_URL")) === 0
  );
}

/**
 * A variable that this process was started with, as bytes. Where they are not UTF-8, `process.env` has U+FFFD instead.
 */
export function variableBytes(name: string): Uint8Array | undefined {
  const at = environment()?.getenv(Buffer.from(`${name}\u0000`));
  return at ? new Uint8Array(toArrayBuffer(at)).slice() : undefined;
}

const RLIMIT_CORE = 4;
const RLIMIT_NOFILE = MACOS ? 8 : 7;

/** `struct rlimit`: the current limit, and the highest that it may be set to; 64 bits each on both platforms. */
const limit = new BigUint64Array(2);

/** Turns off core dumps of this process for good. Returns whether it worked. */
export function denyCoreDumps(): boolean {
  limit.fill(0n);
  return limits()?.setrlimit(RLIMIT_CORE, limit) === 0;
}

/** How many descriptors this process may hold, or 0 if that is unknown. */
export function descriptorLimit(): number {
  return limits()?.getrlimit(RLIMIT_NOFILE, limit) === 0 ? Number(limit[0]) : 0;
}

const SIG_IGN = 1n;
const SIG_ERR = 2n ** 64n - 1n;

/**
 * A terminal may be set to stop a process that writes to it from the background (`stty tostop`). After this call,
 * writing does not stop this one. Returns whether that worked. A handler would not help, because the interrupted write
 * would be repeated.
 */
export function ignoreTerminalStops(): boolean {
  const calls = signals();
  return calls !== undefined && BigInt(calls.signal(constants.signals.SIGTTOU, SIG_IGN)) !== SIG_ERR;
}

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
  const calls = threading();
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
