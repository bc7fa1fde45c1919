/**
 * The processes that this one started, until they have been reaped.
 *
 * Linux gives each a descriptor that can be read once it has exited (`pidfd_open`); all of them are looked at in one
 * call, now and then: soon after something hinted at an end, ever more seldom while nothing happens. Elsewhere, and
 * where there is no such descriptor, `waitpid` itself is asked in the same rhythm; `kqueue` (`EVFILT_PROC`,
 * `NOTE_EXIT`) would tell no more on macOS but for a child that a debugger holds. No thread waits and no signal of this
 * process is taken for it: it does not matter what whoever embeds this library does with SIGCHLD.
 */

import type { Clock } from "../clock.ts";
import { close, type Descriptor } from "../posix.ts";
import { collect, openProcess, signalProcess } from "../posix/process.ts";
import { readable } from "../posix/readiness.ts";
import { type ExitStatus, exitStatusOf } from "./exit-status.ts";

/** The pause between two looks: doubled from the first to the longest, in milliseconds. */
const FIRST_PAUSE_MS = 1;
const LONGEST_PAUSE_MS = 100;
/**
 * How long after it was seen to have exited, or was sent SIGKILL, a process may take to be reaped before those who
 * wait go on without.
 */
export const UNREAPED_MS = 1_000;

export interface HeldProcess {
  readonly pid: number;
  /**
   * Settles once the process has been reaped; where it cannot be, 1 s after it was seen to have exited, or was sent
   * SIGKILL: it is `unreaped` then. Never rejects.
   */
  readonly exited: Promise<ExitStatus>;
  /** Settles once it has exited for certain; never, where not even SIGKILL ends it. */
  readonly gone: Promise<void>;
  /** To this very process; nothing where it has been reaped, or may not be signalled. */
  signal(signal: "SIGTERM" | "SIGKILL"): void;
}

interface Watched {
  readonly pid: number;
  /** Readable once it has exited. Absent where the system has no such descriptor. */
  readonly held: Descriptor | undefined;
  hasExited: boolean;
  readonly onExit: () => void;
  readonly onEnd: (status: ExitStatus) => void;
  /** Somebody still waits for it. */
  awaited: boolean;
}

const watched = new Set<Watched>();
let pause = FIRST_PAUSE_MS;
let timer: ReturnType<typeof setTimeout> | undefined;

/** Holds a child that has just been started. `diagnose` is told where it cannot be reaped. */
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
      // A child that runs as somebody else by now is not ours to signal: that must not keep the others from theirs.
      signalProcess(pid, held, signal);
      if (signal === "SIGKILL") boundWaiting();
      lookSoon();
    },
  };
}

/** Something hints at an end. */
export function lookSoon(): void {
  pause = FIRST_PAUSE_MS;
  lookAfterPause();
}

function lookAfterPause(): void {
  clearTimeout(timer);
  timer = watched.size === 0 ? undefined : setTimeout(look, pause);
  // What nobody waits for does not keep a program alive that is done.
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
