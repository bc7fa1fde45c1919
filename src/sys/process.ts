/**
 * Other processes: whether a pid is in use, a descriptor of that process, its start time, and the end of a child. And
 * what this one does at a signal.
 */

import { constants } from "node:os";
import { ok } from "../result.ts";
import type { Descriptor } from "./descriptors.ts";
import {
  callsOf,
  done,
  faultOfException,
  LONG,
  lastFault,
  linuxCallsOf,
  MACOS,
  macosCallsOf,
  NO_CALL,
  number,
  type Posix,
  uninterrupted,
} from "./library.ts";

const libc = callsOf({
  kill: { args: ["i32", "i32"], returns: "i32" },
  waitpid: { args: ["i32", "ptr", "i32"], returns: "i32" },
});
const actions = callsOf({ sigaction: { args: ["i32", "ptr", "ptr"], returns: "i32" } });
const linux = linuxCallsOf({ syscall: { args: [LONG, LONG, LONG, "ptr", LONG], returns: LONG } });
const macos = macosCallsOf({
  proc_pidinfo: { args: ["i32", "i32", "u64", "ptr", "i32"], returns: "i32" },
});

/** The same numbers on Linux for x64 and arm64. */
const SYS_PIDFD_SEND_SIGNAL = 424;
const SYS_PIDFD_OPEN = 434;
const WNOHANG = 1;

/** `kill(pid, 0)`: whether this process may signal the pid. `ESRCH`: no process has it. */
export function probe(pid: number): Posix<undefined> {
  try {
    process.kill(pid, 0);
    return ok(undefined);
  } catch (error) {
    return faultOfException(error);
  }
}

/**
 * A close-on-exec descriptor of the process that has the pid now. It becomes readable when the process exits, even
 * before it is reaped. Linux from 5.3. For a child, open it before waiting for the child: until then no other process
 * can get its number.
 */
export function openProcess(pid: number): Posix<Descriptor> {
  return number(linux()?.syscall(SYS_PIDFD_OPEN, pid, 0, null, 0));
}

const SIG_DFL = 0n;
const SIG_IGN = 1n;
/**
 * `struct sigaction`: first the handler, then on Linux the mask and the flags, on macOS a shorter mask and the flags.
 */
const ACTION_BYTES = 256;
const FLAGS_AT = MACOS ? 12 : 136;
const SA_NOCLDWAIT = MACOS ? 0x20 : 0x2;

/**
 * Makes sure that a child's exit status is kept until it is collected. If the program that started this process ignored
 * SIGCHLD, this process does too, because that survives exec. The kernel would then throw the status away. An existing
 * handler is kept.
 */
export function keepExitStatuses(): Posix<undefined> {
  const got = actionOf("SIGCHLD");
  if (!got.ok) return got;
  const action = got.value;
  const ignored = handlerIn(action) === SIG_IGN;
  const flags = action.getInt32(FLAGS_AT, true);
  if (!ignored && (flags & SA_NOCLDWAIT) === 0) return ok(undefined);
  if (ignored) action.setBigUint64(0, SIG_DFL, true);
  action.setInt32(FLAGS_AT, flags & ~SA_NOCLDWAIT, true);
  return done(actions()?.sigaction(constants.signals.SIGCHLD, new Uint8Array(action.buffer), null));
}

/** Whether this process ignores the signal. `nohup` starts a program that ignores SIGHUP. */
export function isIgnored(signal: NodeJS.Signals): boolean {
  const action = actionOf(signal);
  return action.ok && handlerIn(action.value) === SIG_IGN;
}

function actionOf(signal: NodeJS.Signals): Posix<DataView<ArrayBuffer>> {
  const bytes = new Uint8Array(ACTION_BYTES);
  const got = done(actions()?.sigaction(constants.signals[signal], null, bytes));
  return got.ok ? ok(new DataView(bytes.buffer)) : got;
}

function handlerIn(action: DataView): bigint {
  return action.getBigUint64(0, true);
}

/** How a process ended, as its parent is told: a status, or the number of a signal. */
export type Wait =
  | { readonly kind: "exited"; readonly status: number }
  | { readonly kind: "signaled"; readonly number: number };

const status = new Int32Array(1);

/**
 * Reaps a child that has exited. `undefined`: there is nothing to collect yet, because it still runs or a tracer holds
 * it. `ECHILD`: it is gone, and so is its status.
 */
export function collect(pid: number): Posix<Wait | undefined> {
  const reaped = uninterrupted(() => libc()?.waitpid(pid, status, WNOHANG));
  if (!reaped.ok) return reaped;
  return ok(reaped.value === 0 ? undefined : readStatus(status[0] ?? 0));
}

function readStatus(raw: number): Wait {
  const number = raw & 0x7f;
  return number === 0 ? { kind: "exited", status: (raw >> 8) & 0xff } : { kind: "signaled", number };
}

/**
 * Signals a child that has not been reaped. Uses its descriptor if there is one, because that can never refer to
 * another process.
 */
export function signalProcess(
  pid: number,
  held: Descriptor | undefined,
  signal: "SIGTERM" | "SIGKILL",
): Posix<undefined> {
  const code = constants.signals[signal];
  if (held === undefined) return done(libc()?.kill(pid, code));
  return done(linux()?.syscall(SYS_PIDFD_SEND_SIGNAL, held, code, null, 0));
}

const PROC_PIDTBSDINFO = 3;
/** The size of `struct proc_bsdinfo`, and the offset of the start time in it. */
const BSDINFO_BYTES = 136;
const BSDINFO_START_SECONDS = 120;
const BSDINFO_START_MICROSECONDS = 128;

/** macOS: when the process started. */
export function darwinStartTime(
  pid: number,
): Posix<{ readonly seconds: bigint; readonly microseconds: bigint }> {
  const calls = macos();
  if (!calls) return NO_CALL;
  const info = new Uint8Array(BSDINFO_BYTES);
  if (calls.proc_pidinfo(pid, PROC_PIDTBSDINFO, 0n, info, BSDINFO_BYTES) < BSDINFO_BYTES) return lastFault();
  const view = new DataView(info.buffer);
  return ok({
    seconds: view.getBigUint64(BSDINFO_START_SECONDS, true),
    microseconds: view.getBigUint64(BSDINFO_START_MICROSECONDS, true),
  });
}
