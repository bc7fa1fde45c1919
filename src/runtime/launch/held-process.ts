/**
 * The processes that this one started, until they have been reaped.
 *
 * Linux gives each a descriptor that becomes readable when the process exits (`pidfd_open`). One call checks all of
 * them: soon after a hint that one ended, and less and less often while nothing happens. Elsewhere, and where there is
 * no such descriptor, `waitpid` is called in the same rhythm. On macOS `kqueue` (`EVFILT_PROC`, `NOTE_EXIT`) would add
 * nothing, except for a child that a debugger holds. This takes no thread and no signal handler, so the embedding
 * program may do what it likes with SIGCHLD.
 */

import { close, type Descriptor, readable } from "../../sys/descriptors.ts";
import { collect, openProcess, signalProcess } from "../../sys/process.ts";
import type { Clock } from "../clock.ts";
import { type ExitStatus, exitStatusOf } from "./exit-status.ts";

/** The pause between two checks, in milliseconds. It doubles from the first value to the longest. */
const FIRST_PAUSE_MS = 1;
const LONGEST_PAUSE_MS = 100;
/**
 * How long a process may take to be reaped after it was seen to have exited, or was sent SIGKILL. After that, those who
 * wait for it continue without it.
 */
export const UNREAPED_MS = 1_000;

export interface HeldProcess {
  readonly pid: number;
  /**
   * Settles once the process has been reaped. If it cannot be reaped, this settles as `unreaped`, 1 s after it was seen
   * to have exited or was sent SIGKILL. Never rejects.
   */
  readonly exited: Promise<ExitStatus>;
  /** Settles once the process has certainly exited. Never settles if not even SIGKILL ends it. */
  readonly gone: Promise<void>;
  /** Signals this very process. Does nothing if it has been reaped, or may not be signalled. */
  signal(signal: "SIGTERM" | "SIGKILL"): void;
}

interface Watched {
  readonly pid: number;
  /** Readable once the process has exited. Absent if the system has no such descriptor. */
  readonly held: Descriptor | undefined;
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
  const held = opened.ok ? opened.value : undefined;
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
    held,
    hasExited: false,
    awaited: true,
    onExit() {
      gone.resolve();
      boundWaiting();
    },
    onEnd(status) {
      stopWaiting?.();
      if (held !== undefined) close(held);
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
      signalProcess(pid, held, signal);
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
  timer = watched.size === 0 ? undefined : setTimeout(look, pause);
  // A process that nobody waits for must not keep a finished program alive.
  if (![...watched].some(({ awaited }) => awaited)) timer?.unref();
}

function look(): void {
  const open = [...watched].filter(({ held, hasExited }) => held !== undefined && !hasExited);
  const ended = readable(open.map(({ held }) => held ?? -1));
  for (const [at, one] of open.entries()) one.hasExited ||= ended[at] === true;
  for (const one of watched) {
    if (one.held !== undefined && !one.hasExited) continue;
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
