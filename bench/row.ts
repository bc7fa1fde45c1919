/** One row of the bench's table, and the arithmetic that rows share. */

export interface Row {
  readonly id: string;
  /** What was measured, in the table's words. */
  readonly what: string;
  /** What the figure should be, in words; empty if there is no target. */
  readonly target: string;
  readonly unit: "/s" | "ms" | "µs" | "MB" | "bytes" | "%";
  readonly median: number;
  readonly p50Ms?: number;
  readonly p99Ms?: number;
  /** Rate or time, relative to the floor's in the same rounds. */
  readonly ofFloor?: number;
  /** Rate relative to the warm, granted `/spawn` in the same rounds. */
  readonly ofGranted?: number;
  /** Processor time of all the server's threads for each request. Valid on a shared machine too. */
  readonly cpuMicroseconds?: number;
  /** The same, relative to the warm, granted `/spawn`. */
  readonly cpuOfGranted?: number;
  readonly met: boolean | undefined;
  readonly note?: string;
}

export function median(numbers: readonly number[]): number {
  const sorted = numbers.toSorted((a, b) => a - b);
  const middle = sorted.length / 2;
  return ((sorted[Math.ceil(middle) - 1] ?? Number.NaN) + (sorted[Math.floor(middle)] ?? Number.NaN)) / 2;
}

/** The median of the ratios within each round. */
export function medianRatio(of: readonly number[], to: readonly number[]): number {
  return median(of.map((value, round) => value / (to[round] ?? Number.NaN)));
}
