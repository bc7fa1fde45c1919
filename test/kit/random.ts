/** Numbers that look random and are the same for the same seed, so that what a fuzzer found can be found again. */

export interface Random {
  /** A whole number from 0, below `end`. */
  below(end: number): number;
  /** Whether something happens that does so once in `times`. */
  onceIn(times: number): boolean;
  pick<T>(choices: readonly [T, ...T[]]): T;
}

/** @param seed a whole number of 32 bits */
export function createRandom(seed: number): Random {
  let state = seed >>> 0;
  // mulberry32
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return (mixed ^ (mixed >>> 14)) >>> 0;
  };
  const below = (end: number) => next() % end;
  return {
    below,
    onceIn: (times) => below(times) === 0,
    pick: (choices) => choices[below(choices.length)] ?? choices[0],
  };
}
