/** Random choices, repeatable by a seed. */

export class Random {
  #state: number;

  /** @param seed a whole number of 32 bits */
  constructor(seed: number) {
    this.#state = seed | 0;
  }

  /** A whole number from 0 to `limit - 1`. */
  below(limit: number): number {
    // mulberry32
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296) * limit);
  }

  /** True once in `times`. */
  once(times: number): boolean {
    return this.below(times) === 0;
  }

  pick<T>(choices: readonly T[]): T {
    const picked = choices[this.below(choices.length)];
    if (picked === undefined) throw new Error("nothing to choose from");
    return picked;
  }

  /** Joins between `least` and `most` pieces. */
  repeat(least: number, most: number, piece: () => string, separator = ""): string {
    return Array.from({ length: least + this.below(most - least + 1) }, piece).join(separator);
  }
}
