import type { Clock } from "../../src/runtime/clock.ts";

/** A clock that stands still until it is moved. */
export interface ManualClock extends Clock {
  /** Moves both readings forward, and calls what falls due in order, with a turn of the event loop after each. */
  advance(ms: number): Promise<void>;
  /** How many callbacks wait. */
  waiting(): number;
}

export function manualClock(startAt = 1_800_000_000_000): ManualClock {
  let elapsed = 0;
  const due = new Set<{ readonly at: number; readonly callback: () => void }>();
  return {
    now: () => startAt + elapsed,
    elapsed: () => elapsed,
    after(ms, callback) {
      const entry = { at: elapsed + ms, callback };
      due.add(entry);
      return () => due.delete(entry);
    },
    async advance(ms) {
      const end = elapsed + ms;
      for (;;) {
        const next = [...due].filter(({ at }) => at <= end).sort((one, other) => one.at - other.at)[0];
        if (!next) break;
        due.delete(next);
        elapsed = next.at;
        next.callback();
        await new Promise((turn) => setImmediate(turn));
      }
      elapsed = end;
    },
    waiting: () => due.size,
  };
}
