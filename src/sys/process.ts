/** Other processes: whether a pid is held, by whom, and a descriptor of the holder. */

import { constants } from "node:os";
import { isSystemError } from "../os-error.ts";
import { errno, linuxCallsOf, macosCallsOf } from "./library.ts";

export const { ESRCH, ENOSYS } = constants.errno;

/** `kill(pid, 0)`: 0 where this process may signal the pid, else the error's number. */
export function probe(pid: number): number {
  try {
    process.kill(pid, 0);
    return 0;
  } catch (error) {
    return isSystemError(error) ? Math.abs(error.errno) : constants.errno.EINVAL;
  }
}

const linux = linuxCallsOf({ syscall: { args: ["i64", "i64", "i64"], returns: "i64" } });

const SYS_PIDFD_OPEN = 434n;

/** Linux: a descriptor of the process that holds the pid now, or minus the error's number. */
export function openProcess(pid: number): number {
  const calls = linux();
  if (!calls) return -ENOSYS;
  const descriptor = Number(calls.syscall(SYS_PIDFD_OPEN, BigInt(pid), 0n));
  return descriptor === -1 ? -errno() : descriptor;
}

const macos = macosCallsOf({
  proc_pidinfo: { args: ["i32", "i32", "u64", "ptr", "i32"], returns: "i32" },
});

const PROC_PIDTBSDINFO = 3;
/** Size of struct proc_bsdinfo, and where its start time stands in it. */
const BSDINFO_BYTES = 136;
const BSDINFO_START_SECONDS = 120;
const BSDINFO_START_MICROSECONDS = 128;

/** macOS: when the process started, or the error's number. */
export function darwinStartTime(
  pid: number,
): { readonly seconds: bigint; readonly microseconds: bigint } | number {
  const calls = macos();
  if (!calls) return ENOSYS;
  const info = new Uint8Array(BSDINFO_BYTES);
  if (calls.proc_pidinfo(pid, PROC_PIDTBSDINFO, 0n, info, BSDINFO_BYTES) < BSDINFO_BYTES) return errno();
  const view = new DataView(info.buffer);
  return {
    seconds: view.getBigUint64(BSDINFO_START_SECONDS, true),
    microseconds: view.getBigUint64(BSDINFO_START_MICROSECONDS, true),
  };
}
