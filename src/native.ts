/**
 * The few system calls that the runtime does not offer, through the C library of this platform.
 *
 * Each function answers with the call's own result, and with -1 where it failed.
 */

import { dlopen, type FFIFunction, read } from "bun:ffi";

const LINUX = {
  kill: { args: ["i32", "i32"], returns: "i32" },
  prctl: { args: ["i32", "u64", "u64", "u64", "u64"], returns: "i32" },
  setenv: { args: ["ptr", "ptr", "i32"], returns: "i32" },
  unsetenv: { args: ["ptr"], returns: "i32" },
  setrlimit: { args: ["i32", "ptr"], returns: "i32" },
  getrlimit: { args: ["i32", "ptr"], returns: "i32" },
  syscall: { args: ["i64", "i64", "i64"], returns: "i64" },
  poll: { args: ["ptr", "u64", "i32"], returns: "i32" },
  epoll_create1: { args: ["i32"], returns: "i32" },
  epoll_ctl: { args: ["i32", "i32", "i32", "ptr"], returns: "i32" },
  epoll_wait: { args: ["i32", "ptr", "i32", "i32"], returns: "i32" },
  close: { args: ["i32"], returns: "i32" },
  __errno_location: { args: [], returns: "ptr" },
} as const satisfies Record<string, FFIFunction>;

const DARWIN = {
  kill: { args: ["i32", "i32"], returns: "i32" },
  ptrace: { args: ["i32", "i32", "ptr", "i32"], returns: "i32" },
  setenv: { args: ["ptr", "ptr", "i32"], returns: "i32" },
  unsetenv: { args: ["ptr"], returns: "i32" },
  setrlimit: { args: ["i32", "ptr"], returns: "i32" },
  poll: { args: ["ptr", "u32", "i32"], returns: "i32" },
  proc_pidinfo: { args: ["i32", "i32", "u64", "ptr", "i32"], returns: "i32" },
  __error: { args: [], returns: "ptr" },
} as const satisfies Record<string, FFIFunction>;

type Linux = ReturnType<typeof dlopen<typeof LINUX>>["symbols"];
type Darwin = ReturnType<typeof dlopen<typeof DARWIN>>["symbols"];

let linux: Linux | undefined;
let darwin: Darwin | undefined;

function onLinux(): Linux {
  linux ??= dlopen("libc.so.6", LINUX).symbols;
  return linux;
}

function onDarwin(): Darwin {
  darwin ??= dlopen("/usr/lib/libSystem.B.dylib", DARWIN).symbols;
  return darwin;
}

const isDarwin = process.platform === "darwin";

export const ESRCH = 3;

/** The error of the call just made; nothing may run in between. */
function errno(): number {
  const location = isDarwin ? onDarwin().__error() : onLinux().__errno_location();
  return location ? read.i32(location) : 0;
}

/** `kill(pid, 0)`: 0 where this process may signal the pid, else the error's number. */
export function probe(pid: number): number {
  const result = isDarwin ? onDarwin().kill(pid, 0) : onLinux().kill(pid, 0);
  return result === 0 ? 0 : errno();
}

const PR_SET_DUMPABLE = 4;
const PT_DENY_ATTACH = 31;

/** Closes this process's memory and environment to other processes of the same user. Whether it worked. */
export function denyInspection(): boolean {
  if (isDarwin) return onDarwin().ptrace(PT_DENY_ATTACH, 0, null, 0) === 0;
  return onLinux().prctl(PR_SET_DUMPABLE, 0n, 0n, 0n, 0n) === 0;
}

const RLIMIT_CORE = 4;

/** No core dump of this process, ever. Whether it worked. */
export function denyCoreDumps(): boolean {
  // struct rlimit: two 64-bit numbers on both platforms.
  const limit = new BigUint64Array(2);
  return (isDarwin ? onDarwin() : onLinux()).setrlimit(RLIMIT_CORE, limit) === 0;
}

/**
 * The runtime's crash reporter starts a program that sends what it knows. It reads the environment of the C library when
 * the crash is there, which a change of `process.env` does not reach. Whether it is off now.
 */
export function silenceCrashReporter(): boolean {
  const libc = isDarwin ? onDarwin() : onLinux();
  const text = (value: string) => Buffer.from(`${value}\u0000`);
  return (
    libc.setenv(text("BUN_ENABLE_CRASH_REPORTING"), text("0"), 1) === 0 &&
    libc.setenv(text("DO_NOT_TRACK"), text("1"), 1) === 0 &&
    libc.unsetenv(text("BUN_CRASH_REPORT_URL")) === 0
  );
}

const POLLOUT = 4;

/** Whether a write to the descriptor would be taken at once; a broken one says yes, and its write says why. */
export function isWritable(fd: number): boolean {
  const request = new Int32Array([fd, POLLOUT]);
  return (isDarwin ? onDarwin() : onLinux()).poll(request, 1, 0) !== 0;
}

const RLIMIT_NOFILE = 7;

/** Linux: how many descriptors this process may hold; 0 where that cannot be told. */
export function descriptorLimit(): number {
  const limit = new BigUint64Array(2);
  return onLinux().getrlimit(RLIMIT_NOFILE, limit) === 0 ? Number(limit[0]) : 0;
}

const SYS_PIDFD_OPEN = 434n;

/** Linux: a descriptor of the process that holds the pid now, or minus the error's number. */
export function openProcess(pid: number): number {
  const descriptor = Number(onLinux().syscall(SYS_PIDFD_OPEN, BigInt(pid), 0n));
  return descriptor === -1 ? -errno() : descriptor;
}

export function closeDescriptor(fd: number): void {
  onLinux().close(fd);
}

const EPOLL_CLOEXEC = 0o2000000;
const EPOLL_CTL_ADD = 1;
const EPOLLIN = 1;
/** struct epoll_event is packed on x86-64 and on no other architecture. */
const EVENT_BYTES = process.arch === "x64" ? 12 : 16;
const EVENT_VALUE_OFFSET = process.arch === "x64" ? 4 : 8;
const EVENTS_PER_READ = 64;

/**
 * Linux: tells which of many descriptors have become readable, at a cost that does not grow with how many there are.
 */
export class ReadinessSet {
  readonly #fd = onLinux().epoll_create1(EPOLL_CLOEXEC);
  /** Room for the events of one reading, or for one that is added. */
  readonly #events = new Uint8Array(EVENT_BYTES * EVENTS_PER_READ);
  readonly #view = new DataView(this.#events.buffer);

  /** Adds a descriptor under a number of the caller's. Whether it worked. */
  add(fd: number, value: number): boolean {
    this.#view.setUint32(0, EPOLLIN, true);
    this.#view.setUint32(EVENT_VALUE_OFFSET, value, true);
    return onLinux().epoll_ctl(this.#fd, EPOLL_CTL_ADD, fd, this.#events) === 0;
  }

  /** The numbers of some descriptors that are readable now; empty where none is. A closed descriptor leaves the set. */
  take(): number[] {
    const count = onLinux().epoll_wait(this.#fd, this.#events, EVENTS_PER_READ, 0);
    return Array.from({ length: Math.max(0, count) }, (_, index) =>
      this.#view.getUint32(index * EVENT_BYTES + EVENT_VALUE_OFFSET, true),
    );
  }
}

const PROC_PIDTBSDINFO = 3;
/** Size of struct proc_bsdinfo, and where its start time stands in it. */
const BSDINFO_BYTES = 136;
const BSDINFO_START_SECONDS = 120;
const BSDINFO_START_MICROSECONDS = 128;

/** macOS: when the process started, or the error's number. */
export function darwinStartTime(
  pid: number,
): { readonly seconds: bigint; readonly microseconds: bigint } | number {
  const info = new Uint8Array(BSDINFO_BYTES);
  if (onDarwin().proc_pidinfo(pid, PROC_PIDTBSDINFO, 0n, info, BSDINFO_BYTES) < BSDINFO_BYTES) return errno();
  const view = new DataView(info.buffer);
  return {
    seconds: view.getBigUint64(BSDINFO_START_SECONDS, true),
    microseconds: view.getBigUint64(BSDINFO_START_MICROSECONDS, true),
  };
}
