/**
 * Who may have artifacts read, how many at once, and what is remembered of them.
 *
 * Anyone who reaches the port may name an artifact, and it must be read before it can be refused. So there are three
 * lanes of callers. Each has its own queue and its own memory, so one lane cannot delay another or push out its results.
 */

import type { Sighting } from "./places.ts";

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

interface MemoryLimits {
  /** The most artifacts remembered. The least recently used one is dropped first. */
  readonly kept: number;
  /** The most bytes that their manifests may have together. */
  readonly keptBytes: number;
}

const MIB = 1024 * 1024;

/**
 * Callers with a token are never refused, and those with a name in `--spawn-allow` should not be: their queue is as
 * long as the highest default ceiling. It has an end because anybody can ask under such a name. All that wait there are also
 * kept, so that none is read twice.
 *
 * The memories of all three take some 200 MB at most, with the largest manifests made to need as much memory as possible.
 */
export const LANES: Readonly<Record<Asker, LaneLimits & MemoryLimits>> = {
  verified: { atOnce: 4, waiting: Number.POSITIVE_INFINITY, kept: 256, keptBytes: 2 * MIB },
  listed: { atOnce: 1, waiting: 256, kept: 256 + 64, keptBytes: MIB },
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
    if (this.#waiting.length === 0 && this.#hasRoom) {
      this.#begin();
      return this.#finish(reading);
    }
    if (this.#waiting.length >= this.#limits.waiting) return undefined;
    return new Promise<void>((resume) => this.#waiting.push(resume)).then(() => this.#finish(reading));
  }

  get #hasRoom(): boolean {
    return this.#running < this.#limits.atOnce && this.#begun < this.#limits.atOnce;
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
    while (this.#hasRoom) {
      const resume = this.#waiting.shift();
      if (!resume) return;
      this.#begin();
      resume();
    }
  }
}

/**
 * What is known about a coordinate. Valid as long as its files do not change.
 *
 * `seenAt`: unix milliseconds, read before the files were looked at. `hasBegun`: whether its reading waits no longer.
 */
export type Entry<Resolution> = { readonly seen: readonly Sighting[] } & (
  | {
      readonly state: "being read";
      readonly seenAt: number;
      readonly hasBegun: () => boolean;
      readonly result: Promise<Resolution>;
    }
  /** `bytes`: the size of the manifest that the resolution was made from; 0 if nothing of it is kept. */
  | { readonly state: "known"; readonly resolution: Resolution; readonly bytes: number }
);

/**
 * What is remembered for one kind of caller: the most recently used artifacts, limited in number and in bytes of manifests. A
 * manifest takes up to fifty times as much memory as its text, so limiting the number is not enough.
 */
export class Memory<Resolution> {
  readonly #limits: MemoryLimits;
  readonly #entries = new Map<string, Entry<Resolution>>();
  #bytes = 0;

  constructor(limits: MemoryLimits) {
    this.#limits = limits;
  }

  get(key: string): Entry<Resolution> | undefined {
    return this.#entries.get(key);
  }

  /** Keeps the entry, as the most recently used one. */
  keep(key: string, entry: Entry<Resolution>): void {
    this.#drop(key);
    this.#entries.set(key, entry);
    this.#bytes += bytesOf(entry);
    for (const oldest of this.#entries.keys()) {
      if (this.#entries.size <= this.#limits.kept && this.#bytes <= this.#limits.keptBytes) return;
      this.#drop(oldest);
    }
  }

  /** Forgets the entry, unless another has replaced it. */
  forget(key: string, entry: Entry<Resolution>): void {
    if (this.#entries.get(key) === entry) this.#drop(key);
  }

  #drop(key: string): void {
    const entry = this.#entries.get(key);
    if (!entry) return;
    this.#entries.delete(key);
    this.#bytes -= bytesOf(entry);
  }
}

function bytesOf(entry: Entry<unknown>): number {
  return entry.state === "known" ? entry.bytes : 0;
}

/**
 * Answers a question that many ask in one turn of the event loop by one look at the end of that turn. The look comes after
 * all these questions, so each request sees the registry as it is when it arrives, or later.
 *
 * A single asker is answered at once, because a client that has closed its sending side never gets an answer that comes a
 * turn later.
 */
export class OnceATurn<Answer> {
  readonly #asked = new Map<string, Turn<Answer>>();
  /** Questions asked more than once in the last turn. They are expected again in this one. */
  #crowded: ReadonlySet<string> = new Set();

  ask(question: string, look: () => Answer | Promise<Answer>): Answer | Promise<Answer> {
    const turn = this.#asked.get(question) ?? this.#begin(question);
    turn.count++;
    if (turn.count === 1 && !this.#crowded.has(question)) return look();
    turn.due ??= new Promise<void>((end) => setImmediate(end)).then(look);
    return turn.due;
  }

  #begin(question: string): Turn<Answer> {
    if (this.#asked.size === 0) setImmediate(() => this.#end());
    const turn: Turn<Answer> = { count: 0, due: undefined };
    this.#asked.set(question, turn);
    return turn;
  }

  #end(): void {
    const crowded = new Set<string>();
    for (const [question, { count }] of this.#asked) if (count > 1) crowded.add(question);
    this.#crowded = crowded;
    this.#asked.clear();
  }
}

interface Turn<Answer> {
  count: number;
  /** The shared answer, once more than one has asked. */
  due: Promise<Answer> | undefined;
}
