/** The bench's table, as it is printed and as docs/performance.md shows it. */

import type { Row } from "./row.ts";

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
