/**
 * What a SIGTERM or SIGINT does before `endWithSpawner` says it. The default would end the process at once, and the
 * daemon would hold the session's slot for ever: only the session itself can give it back. So the session retires first,
 * and then the process ends by the signal.
 */

import { type Clock, within } from "../clock.ts";

const SIGNALS = ["SIGTERM", "SIGINT"] as const;
/** How long a session may take to give its slot back before its process ends. A spawner waits 3 s or more for that. */
const RETIRE_MS = 2_000;

export interface EarlySignals {
  /** Aborts when the first signal comes. */
  readonly received: AbortSignal;
  /** From now on a signal retires what is known by this key. If one has come already, the process ends here. */
  retireBy(key: object, clock: Clock, retire: () => Promise<void>): Promise<void>;
  /** The process ends if a signal came. Otherwise signals do again what they did before. */
  release(): void;
}

/** One for each session. They share one handler, which can tell that way whether the program has one of its own. */
const listeners = new Set<(signal: NodeJS.Signals) => void>();
const held = new WeakMap<object, EarlySignals>();

/** Holds signals from now on. The caller must release them. */
export function holdSignals(): EarlySignals {
  const received = new AbortController();
  let first: NodeJS.Signals | undefined;
  const listener = (signal: NodeJS.Signals) => {
    first ??= signal;
    received.abort();
  };
  if (listeners.size === 0) for (const signal of SIGNALS) process.on(signal, tellAll);
  listeners.add(listener);
  const early: EarlySignals = {
    received: received.signal,
    async retireBy(key, clock, retire) {
      held.set(key, early);
      const end = () => within(clock, RETIRE_MS, retire()).finally(early.release);
      received.signal.addEventListener("abort", () => void end());
      if (received.signal.aborted) await end();
    },
    release() {
      if (!listeners.delete(listener) || listeners.size > 0) return;
      for (const signal of SIGNALS) process.off(signal, tellAll);
      if (first) process.kill(process.pid, first);
    },
  };
  return early;
}

/** Somebody else handles signals from now on. If one has come already, the process is about to end. */
export function takeOverSignals(key: object): void {
  const early = held.get(key);
  if (early && !early.received.aborted) early.release();
}

function tellAll(signal: NodeJS.Signals): void {
  // A program that handles the signal itself also ends its session itself.
  if (process.listenerCount(signal) > 1) return;
  for (const tell of listeners) tell(signal);
}
