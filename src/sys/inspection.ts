/** Keeps other processes from looking into this one. */

import { callsOf, linuxCallsOf, macosCallsOf } from "./library.ts";
import { MACOS } from "./platform.ts";

const linux = linuxCallsOf({ prctl: { args: ["i32", "u64", "u64", "u64", "u64"], returns: "i32" } });
const macos = macosCallsOf({ ptrace: { args: ["i32", "i32", "ptr", "i32"], returns: "i32" } });
const libc = callsOf({
  setenv: { args: ["ptr", "ptr", "i32"], returns: "i32" },
  unsetenv: { args: ["ptr"], returns: "i32" },
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
  const calls = libc();
  if (!calls) return false;
  const text = (value: string) => Buffer.from(`${value}\u0000`);
  return (
    calls.setenv(text("BUN_ENABLE_CRASH_REPORTING"), text("0"), 1) === 0 &&
    calls.setenv(text("DO_NOT_TRACK"), text("1"), 1) === 0 &&
    calls.unsetenv(text("BUN_CRASH_REPORT_URL")) === 0
  );
}
