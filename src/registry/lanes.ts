/**
 * Who may have artifacts read, and how many at once.
 *
 * Anyone who reaches the port may name an artifact, and it must be read before it can be refused. So there are three
 * lanes of callers. Each has its own queue and its own memory, so one lane cannot delay another or push out its results.
 */

import type { MemoryLimits } from "./memory.ts";

/** The kind of caller: its token verifies; it has no approval but a name in `--spawn-allow`; any other. */
export type Asker = "verified" | "listed" | "other";

/** The three, in order of priority. */
export const ASKERS = ["verified", "listed", "other"] as const satisfies readonly Asker[];

interface LaneLimits {
  /** The most readings at once, and the most that begin in one turn of the event loop. */
  readonly atOnce: number;
  /** The most readings that wait. */
  readonly waiting: number;
}

const MIB = 1024 * 1024;

/** The memories of all three take at most 190 MB, with the largest manifests made to need as much memory as possible. */
export const LANES: Readonly<Record<Asker, LaneLimits & MemoryLimits>> = {
  verified: { atOnce: 4, waiting: Number.POSITIVE_INFINITY, kept: 256, keptBytes: 2 * MIB },
  listed: { atOnce: 1, waiting: 16, kept: 64, keptBytes: MIB },
  other: { atOnce: 1, waiting: 16, kept: 16, keptBytes: MIB },
};

/** The most artifacts that are read at once. */
export const READINGS_AT_ONCE = ASKERS.reduce((sum, asker) => sum + LANES[asker].atOnce, 0);

/** The readings of one kind of caller. */
export class Lane {
  readonly #limits: LaneLimits;
  readonly #waiting: (() => void)[] = [];
  #running = 0;
  #begun = 0;

  constructor(limits: LaneLimits) {
    this.#limits = limits;
  }

  /** Runs a reading, now or when its turn comes; `undefined` if too many wait already. */
  run<T>(reading: () => Promise<T>): Promise<T> | undefined {
    if (this.#isFree()) {
      this.#begin();
      return this.#finish(reading);
    }
    if (this.#waiting.length >= this.#limits.waiting) return undefined;
    return new Promise<void>((resume) => this.#waiting.push(resume)).then(() => this.#finish(reading));
  }

  #isFree(): boolean {
    const { atOnce } = this.#limits;
    return this.#running < atOnce && this.#begun < atOnce && this.#waiting.length === 0;
  }

  #begin(): void {
    this.#running++;
    // One reading may start at once; a crowd of them must not.
    if (this.#begun++ === 0) {
      setImmediate(() => {
        this.#begun = 0;
        this.#beginWaiting();
      });
    }
  }

  async #finish<T>(reading: () => Promise<T>): Promise<T> {
    try {
      return await reading();
    } finally {
      this.#running--;
      this.#beginWaiting();
    }
  }

  #beginWaiting(): void {
    const { atOnce } = this.#limits;
    while (this.#running < atOnce && this.#begun < atOnce) {
      const resume = this.#waiting.shift();
      if (!resume) return;
      this.#begin();
      resume();
    }
  }
}
