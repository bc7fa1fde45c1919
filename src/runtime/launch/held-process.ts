/**
 * The processes that this one started, until they have been reaped: how each ended, and how they are ended.
 *
 * Linux gives each a descriptor that becomes readable when the process exits (`pidfd_open`). One call checks all of
 * them: soon after a hint that one ended, and less and less often while nothing happens. Elsewhere, and where there is
 * no such descriptor, `waitpid` is called in the same rhythm. On macOS `kqueue` (`EVFILT_PROC`, `NOTE_EXIT`) would add
 * nothing, except for a child that a debugger holds. This takes no thread and no signal handler, so the embedding
 * program may do what it likes with SIGCHLD.
 */

import { constants } from "node:os";
import { close, type Descriptor, readable } from "../../sys/descriptors.ts";
import { collect, openProcess, signalProcess, type Wait } from "../../sys/process.ts";
import type { Clock } from "../clock.ts";

/** The pause between two checks, in milliseconds. It doubles from the first value to the longest. */
const FIRST_PAUSE_MS = 1;
const LONGEST_PAUSE_MS = 100;
/**
 * How long a process may take to be reaped after it was seen to have exited, or was sent SIGKILL. After that, those who
 * wait for it continue without it.
 */
const UNREAPED_MS = 1_000;

/** What is known of a process that has ended, or that cannot be reaped. */
export type ExitStatus =
  | { readonly kind: "exited"; readonly status: number }
  | { readonly kind: "signaled"; readonly signal: string; readonly number: number }
  /**
   * Its status could not be collected. `lost`: it is gone, and the system kept no status. `unreaped`: it has exited or
   * was killed, but something else, such as a debugger, prevents reaping.
   */
  | { readonly kind: "lost" | "unreaped"; readonly why: string };

/** Something that can be ended: a process that the launcher holds. */
export interface Endable {
  /**
   * Settles once the process has been reaped. If it cannot be reaped, this settles as `unreaped`, 1 s after it was seen
   * to have exited or was sent SIGKILL. Never rejects.
   */
  readonly exited: Promise<ExitStatus>;
  /** Signals this very process. Does nothing if it has been reaped, or may not be signalled. */
  signal(signal: "SIGTERM" | "SIGKILL"): void;
}

export interface HeldProcess extends Endable {
  readonly pid: number;
  /** Settles once the process has certainly exited. Never settles if not even SIGKILL ends it. */
  readonly gone: Promise<void>;
}

interface Watched {
  readonly pid: number;
  /** Readable once the process has exited. Absent if the system has no such descriptor. */
  readonly descriptor: Descriptor | undefined;
  hasExited: boolean;
  readonly onExit: () => void;
  readonly onEnd: (status: ExitStatus) => void;
  /** Whether somebody still waits for it. */
  awaited: boolean;
}

const watched = new Set<Watched>();
let pause = FIRST_PAUSE_MS;
let timer: ReturnType<typeof setTimeout> | undefined;

/** Holds a child that has just been started. Calls `diagnose` if the child cannot be reaped. */
export function holdProcess(pid: number, clock: Clock, diagnose: (line: string) => void): HeldProcess {
  const opened = openProcess(pid);
  const descriptor = opened.ok ? opened.value : undefined;
  const exit = Promise.withResolvers<ExitStatus>();
  const gone = Promise.withResolvers<void>();
  let stopWaiting: (() => void) | undefined;
  const boundWaiting = () => {
    stopWaiting ??= clock.after(UNREAPED_MS, () => {
      one.awaited = false;
      diagnose(`warning: ${unreaped(pid, one.hasExited)}`);
      exit.resolve({ kind: "unreaped", why: unreaped(pid, one.hasExited) });
    });
  };
  const one: Watched = {
    pid,
    descriptor,
    hasExited: false,
    awaited: true,
    onExit() {
      gone.resolve();
      boundWaiting();
    },
    onEnd(status) {
      stopWaiting?.();
      if (descriptor !== undefined) close(descriptor);
      gone.resolve();
      exit.resolve(status);
    },
  };
  watched.add(one);
  lookSoon();
  return {
    pid,
    exited: exit.promise,
    gone: gone.promise,
    signal(signal) {
      if (!watched.has(one)) return;
      // A child that has changed its user can no longer be signalled. The other children must still get their signal.
      signalProcess(pid, descriptor, signal);
      if (signal === "SIGKILL") boundWaiting();
      lookSoon();
    },
  };
}

/** Call this when something suggests that a process has ended. */
export function lookSoon(): void {
  pause = FIRST_PAUSE_MS;
  lookAfterPause();
}

function lookAfterPause(): void {
  clearTimeout(timer);
  timer = watched.size === 0 ? undefined : setTimeout(lookNow, pause);
  // A process that nobody waits for must not keep a finished program alive.
  if (![...watched].some(({ awaited }) => awaited)) timer?.unref();
}

/**
 * Reaps every process that has ended by now. Call this before you end a child: if that child is already gone, its exit
 * is handled first.
 */
export function lookNow(): void {
  const open = [...watched].filter(({ descriptor, hasExited }) => descriptor !== undefined && !hasExited);
  const ended = readable(open.map(({ descriptor }) => descriptor ?? -1));
  for (const [at, one] of open.entries()) one.hasExited ||= ended[at] === true;
  for (const one of watched) {
    if (one.descriptor !== undefined && !one.hasExited) continue;
    const status = collect(one.pid);
    if (status.ok && status.value === undefined) {
      if (one.hasExited) one.onExit();
      continue;
    }
    watched.delete(one);
    one.onEnd(status.ok && status.value ? exitStatusOf(status.value) : lost(one.pid));
  }
  pause = Math.min(pause * 2, LONGEST_PAUSE_MS);
  lookAfterPause();
}

function lost(pid: number): ExitStatus {
  const why = `pid ${pid} has ended, and the system kept no exit status: something in this process ignores SIGCHLD, or reaped it`;
  return { kind: "lost", why };
}

function unreaped(pid: number, hasExited: boolean): string {
  const why = hasExited
    ? "it has exited, and another process, such as a debugger, holds it"
    : "a second after SIGKILL it had not exited";
  return `pid ${pid} could not be reaped: ${why}`;
}

/** What the system says about it. A real-time signal has no name. */
function exitStatusOf(wait: Wait): ExitStatus {
  if (wait.kind === "exited") return wait;
  const { number } = wait;
  // Some numbers have two names (SIGABRT, SIGIOT). The first is the usual one.
  const [name] = Object.entries(constants.signals).find(([, one]) => one === number) ?? [`SIG${number}`];
  return { kind: "signaled", signal: name, number };
}

/** `exit status: 1`, `signal: 9 (SIGKILL)`. */
export function describeExit(status: ExitStatus): string {
  switch (status.kind) {
    case "exited":
      return `exit status: ${status.status}`;
    case "signaled":
      return `signal: ${status.number} (${status.signal})`;
    case "lost":
    case "unreaped":
      return `exit status: unknown, ${status.why}`;
    default:
      return status satisfies never;
  }
}

/** How long a child may take to wind down after SIGTERM. */
export const GRACE_MS = 5_000;
/** The same when this process was itself sent SIGTERM by its spawner, which sends SIGKILL after 5 seconds. */
export const HURRIED_GRACE_MS = 3_000;

/**
 * Ends every one of them: SIGTERM, some time to wind down, SIGKILL, then reaping. All are signalled at once and share one
 * grace period. Returns when all have been reaped, at the latest 1 s after SIGKILL. A process that had already ended
 * keeps its outcome.
 *
 * @param hurry a session's `hurry.signal`: once it has aborted, the grace is 3 s instead of 5
 */
export async function endAll(children: readonly Endable[], clock: Clock, hurry?: AbortSignal): Promise<void> {
  const signalAll = (signal: "SIGTERM" | "SIGKILL") => {
    for (const child of children) child.signal(signal);
  };
  signalAll("SIGTERM");
  const cancels: (() => void)[] = [];
  const killAfter = (ms: number) => void cancels.push(clock.after(ms, () => signalAll("SIGKILL")));
  const hasten = () => killAfter(HURRIED_GRACE_MS);
  killAfter(GRACE_MS);
  if (hurry?.aborted) hasten();
  else hurry?.addEventListener("abort", hasten, { once: true });
  try {
    await Promise.all(children.map((child) => child.exited));
  } finally {
    hurry?.removeEventListener("abort", hasten);
    for (const cancel of cancels) cancel();
  }
}
