/**
 * Where a runtime writes: its own standard streams, or what a test puts in their place. No write ever holds up the
 * process: not one to a terminal that nobody reads, nor one to a pipe that is full.
 */

import { type Attempt, type Outlet, openOutlet } from "../log/writer.ts";

export interface Output {
  /** Settles when the bytes are taken, so that a slow reader slows its writers and fills no memory. Never rejects. */
  readonly stdout: (bytes: Uint8Array) => Promise<void>;
  readonly stderr: (bytes: Uint8Array) => Promise<void>;
}

const STDOUT = 1;
const STDERR = 2;

/** One for each stream of this process, so that what is written by several stays in order. */
const streams = new Map<number, Stream>();

/** The streams of this process. A reader that went away is no failure: what it does not read is thrown away. */
export function processOutput(): Output {
  return { stdout: writerOf(STDOUT), stderr: writerOf(STDERR) };
}

function writerOf(fd: number): (bytes: Uint8Array) => Promise<void> {
  let stream = streams.get(fd);
  if (!stream) {
    stream = new Stream(openOutlet(fd));
    streams.set(fd, stream);
  }
  const { write } = stream;
  return write;
}

/** A stream that is full is asked again after this long, then after twice that, and so on. */
const FIRST_PAUSE_MS = 1;
const LONGEST_PAUSE_MS = 50;

interface Pending {
  rest: Uint8Array;
  readonly taken: () => void;
}

class Stream {
  readonly #outlet: Outlet;
  readonly #pending: Pending[] = [];
  #isWaiting = false;
  #pauseMs = FIRST_PAUSE_MS;

  constructor(outlet: Outlet) {
    this.#outlet = outlet;
  }

  readonly write = (bytes: Uint8Array): Promise<void> =>
    new Promise((taken) => {
      this.#pending.push({ rest: bytes, taken });
      if (!this.#isWaiting) this.#pump();
    });

  #pump(): void {
    for (let next = this.#pending[0]; next; next = this.#pending[0]) {
      const attempt = this.#outlet.write(next.rest.subarray(0, this.#outlet.chunkBytes));
      if (attempt instanceof Promise) {
        this.#isWaiting = true;
        void attempt.then((settled) => {
          this.#isWaiting = false;
          if (this.#settle(settled)) this.#pump();
        });
        return;
      }
      if (!this.#settle(attempt)) return;
    }
  }

  /** Whether to go on at once. */
  #settle(attempt: Attempt): boolean {
    const [next] = this.#pending;
    switch (attempt.kind) {
      case "full":
        this.#isWaiting = true;
        setTimeout(() => {
          this.#isWaiting = false;
          this.#pump();
        }, this.#pauseMs);
        this.#pauseMs = Math.min(this.#pauseMs * 2, LONGEST_PAUSE_MS);
        return false;
      case "taken":
        this.#pauseMs = FIRST_PAUSE_MS;
        if (next) next.rest = next.rest.subarray(attempt.bytes);
        break;
      case "failed":
        if (next) next.rest = next.rest.subarray(next.rest.length);
        break;
      default:
        attempt satisfies never;
    }
    if (next?.rest.length === 0) {
      this.#pending.shift();
      next.taken();
    }
    return true;
  }
}
