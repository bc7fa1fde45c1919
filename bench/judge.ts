/** Makes rows from the measurements: medians, ratios within a round, and whether the target is met. */

import type { Measured } from "./interleave.ts";
import { median, medianRatio, type Row } from "./row.ts";
import { FLOOR, FLOOR_RECONNECT, GRANTED } from "./throughput.ts";

/** How much two medians of the same thing differ from run to run. */
const NOISE = 0.03;

export function throughputRows(measured: readonly Measured[]): Row[] {
  const beside = (id: string) => measured.find(({ subject }) => subject.id === id);
  const rateOf = (id: string) => beside(id)?.rate ?? [];
  return measured.map(({ subject, rate, p50Ms, p99Ms, cpuMicroseconds }) => {
    const { id, what, target } = subject;
    const p50 = median(p50Ms);
    const p99 = median(p99Ms);
    const ofGranted = medianRatio(rate, rateOf(GRANTED));
    const ofFloor = medianRatio(rate, rateOf(id.endsWith("reconnect") ? FLOOR_RECONNECT : FLOOR));
    const comparable = id === "spawn-held" || id.startsWith("spawn-finished") || id.startsWith("refused-");
    const cpu = medianRatio(cpuMicroseconds, beside(GRANTED)?.cpuMicroseconds ?? []);
    const figures = { rate: median(rate), p50, p99, ofFloor, ofGranted };
    return {
      id,
      what,
      target,
      unit: "/s",
      median: figures.rate,
      p50Ms: p50,
      p99Ms: p99,
      ...(!id.startsWith("status") && { ofFloor }),
      ...(comparable && { ofGranted, cpuOfGranted: cpu }),
      cpuMicroseconds: median(cpuMicroseconds),
      met: isMet(id, figures),
    };
  });
}

interface Figures {
  readonly rate: number;
  readonly p50: number;
  readonly p99: number;
  readonly ofFloor: number;
  readonly ofGranted: number;
}

function isMet(id: string, { rate, p50, p99, ofFloor, ofGranted }: Figures): boolean | undefined {
  switch (id) {
    case FLOOR:
    case FLOOR_RECONNECT:
      return undefined;
    case GRANTED:
      return rate >= 15_000 && ofFloor >= 0.5 && p99 < 5 * p50;
    case "spawn-reconnect":
      return rate >= 8_000;
    case "health":
      return rate >= 7_900;
    case "pairs":
      return rate >= 5_000;
    case "status-survivors":
      return p50 < 0.3;
    default:
      return id.startsWith("refused-") ? ofGranted >= 1 - NOISE : ofGranted >= 0.9;
  }
}
