/**
 * What a SIGTERM, SIGINT or SIGHUP does before `endWithSpawner` says it. The default would end the process at once, and
 * the daemon would hold the session's slot for ever: only the session itself can give it back. So the session retires
 * first, and then the process ends by the signal.
 */

import { asOwn, type EndSignal, isLeftToProgram, SIGNALS, signalsToHear } from "./signals.ts";

const STATUSES = { SIGTERM: 143, SIGINT: 130, SIGHUP: 129 };

/** From the first signal to the end of the process, whatever it waits for. A spawner sends SIGKILL after 3 s or more. */
const END_MS = 2_500;
/** How long a program that handles the signal itself has to close its session. */
const OWN_END_MS = 30_000;

export interface EarlySignals {
  /** Aborts when the first signal comes. */
  readonly received: AbortSignal;
  /** From now on a signal retires what is known by this key. If one has come already, the process ends here. */
  retireBy(key: object, retire: () => Promise<void>): Promise<void>;
  /** The process ends if a signal came. Otherwise signals do again what they did before. */
  release(): void;
}

/** One for each session. They share one handler, which can tell that way whether the program has one of its own. */
const listeners = new Set<(signal: EndSignal) => void>();
const held = new WeakMap<object, EarlySignals>();

/** Holds signals from now on. The caller must release them. */
export function holdSignals(): EarlySignals {
  const received = new AbortController();
  let first: EndSignal | undefined;
  const listener = (signal: EndSignal) => {
    if (first) return;
    first = signal;
    setTimeout(early.release, END_MS).unref();
    received.abort();
  };
  // Before the program's own ones: one that is called once is not counted any more while it runs.
  if (listeners.size === 0)
    for (const signal of signalsToHear()) process.prependListener(signal, asOwn(tellAll));
  listeners.add(listener);
  const early: EarlySignals = {
    received: received.signal,
    async retireBy(key, retire) {
      held.set(key, early);
      const end = () => retire().finally(early.release);
      received.signal.addEventListener("abort", () => void end());
      if (received.signal.aborted) await end();
    },
    release() {
      if (!listeners.delete(listener) || listeners.size > 0) return;
      for (const signal of SIGNALS) process.off(signal, tellAll);
      if (!first) return;
      process.kill(process.pid, first);
      // Still here: the first process of a container has no default action.
      if (process.listenerCount(first) === 0) process.exit(STATUSES[first]);
    },
  };
  return early;
}

/** Whether a signal has come, so that the process is about to end. */
export function isEnding(key: object): boolean {
  return held.get(key)?.received.aborted ?? false;
}

/** Somebody else handles signals from now on, unless one has come already. */
export function takeOverSignals(key: object): void {
  if (!isEnding(key)) held.get(key)?.release();
}

/**
 * A program that handles the signal itself also ends its session itself. But it may have a handler that stands back
 * where there is another one, as ours would: so it has some time, and then it is over.
 */
function tellAll(signal: EndSignal): void {
  if (isLeftToProgram(signal)) return;
  const tell = () => {
    for (const listener of listeners) listener(signal);
  };
  if (process.listenerCount(signal) > 1) setTimeout(tell, OWN_END_MS).unref();
  else tell();
}
