/** One row of the bench's table, the table, and the arithmetic that rows share. */

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

/** The table as it is printed, and as docs/performance.md shows it. */
export function renderTable(rows: readonly Row[]): string {
  const header = [
    "What",
    "Median",
    "p50",
    "p99",
    "of the floor",
    "of granted",
    "CPU a request",
    "Asked for",
    "",
  ];
  const lines = rows.map((row) => [
    row.note === undefined ? row.what : `${row.what} (${row.note})`,
    `${amount(row.median, row.unit)}`,
    row.p50Ms === undefined ? "" : amount(row.p50Ms, "ms"),
    row.p99Ms === undefined ? "" : amount(row.p99Ms, "ms"),
    percent(row.ofFloor),
    percent(row.ofGranted),
    processorTime(row),
    row.target,
    row.met === undefined ? "" : row.met ? "yes" : "**no**",
  ]);
  const table = [header, header.map(() => "---"), ...lines];
  return `${table.map((cells) => `| ${cells.join(" | ")} |`).join("\n")}\n`;
}

function processorTime({ cpuMicroseconds, cpuOfGranted }: Row): string {
  if (cpuMicroseconds === undefined) return "";
  const relative = cpuOfGranted === undefined ? "" : ` (${percent(cpuOfGranted)} of granted)`;
  return `${cpuMicroseconds.toFixed(0)} µs${relative}`;
}

function percent(part: number | undefined): string {
  return part === undefined ? "" : `${(part * 100).toFixed(0)} %`;
}

function amount(value: number, unit: Row["unit"]): string {
  if (unit === "/s") return `${Math.round(value).toLocaleString("en-US")}/s`;
  if (unit === "bytes") return `${Math.round(value).toLocaleString("en-US")} bytes`;
  return `${value.toFixed(unit === "ms" && value < 10 ? 2 : 1)} ${unit}`;
}
