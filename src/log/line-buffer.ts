/**
 * Lines waiting to be written to a standard stream, in order. If the buffer is full, whole lines are dropped and counted,
 * never half a line: after a partial write, the rest of the line follows.
 */

import type { Attempt, Outlet } from "./writer.ts";

/** A line waits this long, so that several are written together. */
const LINGER_MS = 10;
const MAX_HELD_BYTES = 256 * 1024;
/** A character of a string takes at most this much in UTF-8. */
const MAX_CHARACTER_BYTES = 3;
/** If a stream takes nothing, the next attempt follows after this long, then after twice that, and so on. */
const FIRST_PAUSE_MS = 5;
const LONGEST_PAUSE_MS = 500;
/** The longest pause when the process is about to exit. */
const LONGEST_LAST_PAUSE_MS = 20;

const LINE_FEED = 0x0a;

export class LineBuffer {
  readonly #outlet: Outlet;
  readonly #tellOfDropped: (count: number) => string;
  readonly #room = Buffer.allocUnsafe(MAX_HELD_BYTES);
  /** Unwritten bytes are between `#start` and `#end`. */
  #start = 0;
  #end = 0;
  #dropped = 0;
  #lingering: Timer | undefined;
  #pausing: Timer | undefined;
  #pauseMs = FIRST_PAUSE_MS;
  #longestPauseMs = LONGEST_PAUSE_MS;
  /** Whether another thread is writing. */
  #attempting = false;
  #whenEmpty: (() => void) | undefined;

  /** @param tellOfDropped makes the line that says how many were dropped, with its line feed */
  constructor(outlet: Outlet, tellOfDropped: (count: number) => string) {
    this.#outlet = outlet;
    this.#tellOfDropped = tellOfDropped;
  }

  /** Adds a line, including its line feed. It is written a moment later, together with others. */
  add(line: string): void {
    if (!this.#noteDropped() || !this.#hold(line)) this.#dropped++;
    this.#lingering ??= setTimeout(() => {
      this.#lingering = undefined;
      this.flush();
    }, LINGER_MS);
  }

  /** Writes as much as the stream takes now. The rest is written later without another call. */
  flush(): void {
    if (this.#attempting || this.#pausing !== undefined) return;
    for (;;) {
      this.#noteDropped();
      if (this.#start === this.#end) {
        this.#whenEmpty?.();
        return;
      }
      const attempt = this.#outlet.write(this.#nextChunk());
      if (attempt instanceof Promise) {
        this.#attempting = true;
        void attempt.then((settled) => {
          this.#attempting = false;
          if (this.#settle(settled)) this.flush();
        });
        return;
      }
      if (!this.#settle(attempt)) return;
    }
  }

  /** Resolves once everything is written, or after `withinMs` milliseconds. */
  async finish(withinMs: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#whenEmpty = resolve;
    const timer = setTimeout(resolve, withinMs);
    this.#longestPauseMs = LONGEST_LAST_PAUSE_MS;
    this.#pauseMs = FIRST_PAUSE_MS;
    clearTimeout(this.#pausing);
    this.#pausing = undefined;
    this.flush();
    await promise;
    clearTimeout(timer);
  }

  /** Notes the result of an attempt. Returns whether to write on at once. */
  #settle(attempt: Attempt): boolean {
    if (attempt.kind === "taken" && attempt.bytes > 0) {
      this.#start += attempt.bytes;
      if (this.#start === this.#end) this.#start = this.#end = 0;
      this.#pauseMs = FIRST_PAUSE_MS;
      return true;
    }
    this.#pausing = setTimeout(() => {
      this.#pausing = undefined;
      this.flush();
    }, this.#pauseMs);
    this.#pauseMs = Math.min(this.#pauseMs * 2, this.#longestPauseMs);
    return false;
  }

  /** Whole lines if they fit, so that other writers to the same pipe cannot split a line. */
  #nextChunk(): Uint8Array {
    const most = this.#room.subarray(this.#start, Math.min(this.#end, this.#start + this.#outlet.chunkBytes));
    return most.subarray(0, most.lastIndexOf(LINE_FEED) + 1 || most.length);
  }

  /** Adds the line about dropped lines once there is room. Returns false if it is still due. */
  #noteDropped(): boolean {
    if (this.#dropped > 0 && this.#hold(this.#tellOfDropped(this.#dropped))) this.#dropped = 0;
    return this.#dropped === 0;
  }

  #hold(line: string): boolean {
    const bytes = line.length * MAX_CHARACTER_BYTES;
    if (this.#end + bytes > this.#room.length && this.#start > 0 && !this.#attempting) {
      this.#room.copyWithin(0, this.#start, this.#end);
      this.#end -= this.#start;
      this.#start = 0;
    }
    if (this.#end + bytes > this.#room.length) return false;
    this.#end += this.#room.write(line, this.#end);
    return true;
  }
}
