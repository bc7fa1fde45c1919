/**
 * Latencies as counts in buckets whose width is 1/64 of their value. A quantile is exact to 1.6 %, recording allocates
 * nothing, and the memory does not grow with their number.
 */

const STEPS = 64;
/** 2^36 ns: 68 seconds. */
const OCTAVES = 36;

export class Latencies {
  readonly #buckets = new Uint32Array(STEPS * OCTAVES);
  #count = 0;
  #max = 0;

  get count(): number {
    return this.#count;
  }

  /** The longest one, in milliseconds, exact. */
  get max(): number {
    return this.#max;
  }

  add(milliseconds: number): void {
    const bucket = Math.log2(Math.max(1, milliseconds * 1e6)) * STEPS;
    const index = Math.min(this.#buckets.length - 1, Math.floor(bucket));
    this.#buckets[index] = (this.#buckets[index] ?? 0) + 1;
    this.#count++;
    if (milliseconds > this.#max) this.#max = milliseconds;
  }

  /** A quantile (0 to 1) in milliseconds; NaN if nothing was recorded. */
  at(quantile: number): number {
    let left = Math.ceil(this.#count * quantile);
    for (const [bucket, count] of this.#buckets.entries()) {
      left -= count;
      if (left <= 0 && count > 0) return 2 ** ((bucket + 0.5) / STEPS) / 1e6;
    }
    return Number.NaN;
  }
}
