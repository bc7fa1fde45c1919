/**
 * Who may have artifacts read, and how many at once.
 *
 * Anybody who reaches the port may name an artifact that has to be read before the answer is known. So callers go in
 * three lanes, and none of them waits behind another's readings, or loses what it had read to them.
 */

import type { MemoryLimits } from "./memory.ts";

/** Who asks: with a token that verifies; without an approval, by a name in `--spawn-allow`; anybody else. */
export type Asker = "verified" | "listed" | "other";

/** The three, whoever goes first before the others. */
export const ASKERS = ["verified", "listed", "other"] as const satisfies readonly Asker[];

interface LaneLimits {
  /** Readings at once, and readings that begin in one turn of the event loop. */
  readonly atOnce: number;
  /** Readings that wait. */
  readonly waiting: number;
}

const MIB = 1024 * 1024;

/** The memory of all three takes 190 MB, if every manifest is as large as one may be and made to take much. */
export const LANES: Readonly<Record<Asker, LaneLimits & MemoryLimits>> = {
  verified: { atOnce: 4, waiting: Number.POSITIVE_INFINITY, kept: 256, keptBytes: 2 * MIB },
  listed: { atOnce: 1, waiting: 16, kept: 64, keptBytes: MIB },
  other: { atOnce: 1, waiting: 16, kept: 16, keptBytes: MIB },
};

/** How many artifacts are read at once at the most. */
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

  /** Runs a reading, now or when its turn comes; `undefined` where too many wait already. */
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
    // A reading may be done at once; a crowd of them must not be.
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
