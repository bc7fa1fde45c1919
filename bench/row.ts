/** One row of the bench's table, and the arithmetic that rows share. */

export interface Row {
  readonly id: string;
  /** What was measured, as the table says it. */
  readonly what: string;
  /** What the figure should be, in words; empty where nothing is asked. */
  readonly target: string;
  readonly unit: "/s" | "ms" | "µs" | "MB" | "bytes" | "%";
  readonly median: number;
  readonly p50Ms?: number;
  readonly p99Ms?: number;
  /** Rate or time, relative to the floor's in the same rounds. */
  readonly ofFloor?: number;
  /** Rate relative to the warm, granted `/spawn` in the same rounds. */
  readonly ofGranted?: number;
  /** Processor time of the server for each request, all of its threads; what holds when the machine is shared. */
  readonly cpuMicroseconds?: number;
  /** The same relative to the warm, granted `/spawn`'s. */
  readonly cpuOfGranted?: number;
  readonly met: boolean | undefined;
  readonly note?: string;
}

export function median(numbers: readonly number[]): number {
  const sorted = numbers.toSorted((a, b) => a - b);
  const middle = sorted.length / 2;
  return ((sorted[Math.ceil(middle) - 1] ?? Number.NaN) + (sorted[Math.floor(middle)] ?? Number.NaN)) / 2;
}

/** The median of the quotients of what was measured in the same round. */
export function medianRatio(of: readonly number[], to: readonly number[]): number {
  return median(of.map((value, round) => value / (to[round] ?? Number.NaN)));
}
