/**
 * A census in a process of its own: counts the records in its first argument, and once more for each line of its input.
 * For each count it prints a line of JSON.
 */

import { readdirSync, readlinkSync } from "node:fs";
import { createInterface } from "node:readline";
import { Census } from "../../src/census/census.ts";
import { identify } from "../../src/census/process-identity.ts";
import type { RunningRecord } from "../../src/census/running-records.ts";

export interface Counted {
  readonly count: number;
  /** What is known of the first record's process. */
  readonly verdict: string;
  /** Descriptors of processes that are held. */
  readonly held: readonly number[];
  readonly hasInput: boolean;
}

const records = JSON.parse(process.argv[2] ?? "[]") as readonly RunningRecord[];
const [first] = records;
const census = new Census(records);

function linkOf(descriptor: string): string {
  try {
    return readlinkSync(`/proc/self/fd/${descriptor}`);
  } catch {
    // That of the reading itself.
    return "";
  }
}

function print(): void {
  const counted: Counted = {
    count: census.count(),
    verdict: first ? identify(first) : "",
    held: readdirSync("/proc/self/fd")
      .filter((descriptor) => linkOf(descriptor).includes("pidfd"))
      .map(Number)
      .sort((one, other) => one - other),
    hasInput: linkOf("0") !== "",
  };
  process.stdout.write(`${JSON.stringify(counted)}\n`);
}

print();
for await (const _ of createInterface({ input: process.stdin })) print();
