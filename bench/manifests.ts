/**
 * What reading a manifest costs, in this process. First an ordinary one, compared with a YAML library that reads the same
 * text in the same rounds. Then how long other work waits while the largest manifests of each shape are read, compared
 * with how long it waits for work that only counts. (Processor time and comparisons are valid on a shared machine.)
 */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parseDocument } from "yaml";
import { LARGE_MANIFESTS } from "../scripts/yaml-fuzz/large.ts";
import { readManifest, readManifestInSlices } from "../src/registry/manifest.ts";
import { inSlices } from "../src/slices.ts";
import { median, medianRatio, type Row } from "./row.ts";

const ORDINARY = join(import.meta.dir, "../test/registry/manifests/capsule.yaml");
const READINGS_A_ROUND = 2000;

interface ManifestOptions {
  readonly rounds: number;
  /** How often the ordinary one is read in a round. */
  readonly readings?: number;
}

export async function measureManifests(options: ManifestOptions): Promise<Row[]> {
  return [ordinaryRow(options), await largestRow(options.rounds)];
}

function ordinaryRow({ rounds, readings = READINGS_A_ROUND }: ManifestOptions): Row {
  const source = readFileSync(ORDINARY, "utf8");
  const ours: number[] = [];
  const library: number[] = [];
  // The first round is a warm-up and does not count.
  for (let round = 0; round <= rounds; round++) {
    const one = microsecondsOf(readings, () => readManifest(source));
    const other = microsecondsOf(readings, () => parseDocument(source, { schema: "failsafe" }));
    if (round === 0) continue;
    ours.push(one);
    library.push(other);
  }
  const middle = median(ours);
  const part = (medianRatio(ours, library) * 100).toFixed(0);
  return {
    id: "manifest-ordinary",
    what: `reading a manifest of ${source.length} bytes`,
    target: "60 µs",
    unit: "µs",
    median: middle,
    met: middle < 60,
    note: `${part} % of what the yaml package takes`,
  };
}

/** Processor time of one reading. */
function microsecondsOf(readings: number, read: () => unknown): number {
  const start = process.cpuUsage();
  for (let count = 0; count < readings; count++) read();
  const { user, system } = process.cpuUsage(start);
  return (user + system) / readings;
}

/** The row of the shape during whose reading others waited longest. */
async function largestRow(rounds: number): Promise<Row> {
  let worst = { shape: "", wait: 0, took: 0, without: 0 };
  for (const [shape, source] of Object.entries(LARGE_MANIFESTS)) {
    const waits: number[] = [];
    const times: number[] = [];
    const others: number[] = [];
    for (let round = 0; round < rounds; round++) {
      const start = performance.now();
      waits.push(await longestWait(() => readManifestInSlices(source)));
      const took = performance.now() - start;
      times.push(took);
      others.push(await longestWait(() => inSlices(counting(took))));
    }
    const wait = median(waits);
    if (wait > worst.wait) worst = { shape, wait, took: median(times), without: median(others) };
  }
  return {
    id: "manifest-largest",
    what: "longest wait of others while a manifest of 256 KiB is read",
    target: "20 ms",
    unit: "ms",
    median: worst.wait,
    met: worst.wait < 20,
    note: `the worst of ${Object.keys(LARGE_MANIFESTS).length} shapes, ${worst.shape}, in ${worst.took.toFixed(0)} ms; without it: ${worst.without.toFixed(2)} ms`,
  };
}

/** Work that delays no one: it can pause at any time, and allocates nothing. */
function* counting(forMs: number): Generator<void, void> {
  for (const end = performance.now() + forMs; performance.now() < end; ) yield;
}

/** The longest time, in milliseconds, between two turns of the event loop while `work` runs. */
async function longestWait(work: () => unknown): Promise<number> {
  let longest = 0;
  let last = performance.now();
  let watching = true;
  const look = () => {
    const now = performance.now();
    longest = Math.max(longest, now - last);
    last = now;
    if (watching) setImmediate(look);
  };
  setImmediate(look);
  await work();
  look();
  watching = false;
  return longest;
}
