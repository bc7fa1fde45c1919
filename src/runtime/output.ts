/**
 * Where a runtime writes: its own standard streams, or a test's replacement for them. No write ever blocks the process,
 * not even to a terminal that nobody reads or to a full pipe.
 */

import { type Attempt, type Outlet, openOutlet } from "../log/writer.ts";

export interface Output {
  /**
   * Settles when the bytes are taken, so that a slow reader slows its writers down and memory does not fill up. Never
   * rejects.
   */
  readonly stdout: (bytes: Uint8Array) => Promise<void>;
  readonly stderr: (bytes: Uint8Array) => Promise<void>;
}

const STDOUT = 1;
const STDERR = 2;

/** One for each stream of this process, so that output from several writers stays in order. */
const streams = new Map<number, Stream>();

/** The streams of this process. It is no failure if a reader goes away: the rest is thrown away. */
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

/** How long to wait before trying a full stream again. The wait then doubles each time. */
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

  /** Whether to continue at once. */
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
