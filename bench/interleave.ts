/**
 * Rows that are measured as throughput. In each round every row runs for a slice of time, so that other load on the
 * machine affects all of them alike, and rows are compared within a round.
 */

import { messageOf } from "../src/os-error.ts";
import { type LoadOptions, type LoadResult, runLoad } from "./load.ts";
import { cpuMicroseconds } from "./process-cost.ts";
import type { Server } from "./server.ts";
import { CONNECTIONS } from "./sessions.ts";

export interface Subject {
  readonly id: string;
  readonly what: string;
  readonly target: string;
  readonly server: Server;
  /** Prepares the slice, unmeasured, and returns what to drive. */
  readonly prepare: () => Drive | Promise<Drive>;
  /** How many requests make one unit of the rate. */
  readonly requestsPerUnit?: number;
}

/** A load, or a function that drives one itself. */
export type Drive =
  | ({ readonly kind?: "load" } & Pick<LoadOptions, "next" | "expect"> &
      Partial<Pick<LoadOptions, "connections" | "reconnect" | "onAnswer">>)
  | { readonly kind: "own"; readonly run: (forMs: number) => Promise<LoadResult> };

/** The figures of one subject, one for each round. */
export interface Measured {
  readonly subject: Subject;
  readonly rate: number[];
  readonly p50Ms: number[];
  readonly p99Ms: number[];
  readonly cpuMicroseconds: number[];
}

export async function interleave(
  subjects: readonly Subject[],
  options: {
    readonly rounds: number;
    readonly sliceMs: number;
    readonly leadInMs: number;
    readonly warmMs: number;
    readonly onRound: (round: number) => void;
  },
): Promise<Measured[]> {
  const measured = subjects.map((subject) => ({
    subject,
    rate: [],
    p50Ms: [],
    p99Ms: [],
    cpuMicroseconds: [],
  })) satisfies Measured[] as Measured[];
  for (const { subject } of measured) await slice(subject, options.warmMs / 3);
  for (let round = 1; round <= options.rounds; round++) {
    options.onRound(round);
    for (const each of measured) {
      const { subject } = each;
      const { result, cpu } = await slice(subject, options.sliceMs, options.leadInMs);
      const units = result.answers / (subject.requestsPerUnit ?? 1);
      each.rate.push(units / result.seconds);
      each.p50Ms.push(result.latencies.at(0.5));
      each.p99Ms.push(result.latencies.at(0.99));
      each.cpuMicroseconds.push(cpu / units);
    }
  }
  return measured;
}

/** @param leadInMs how long it runs before it is measured, because an idle server has given memory back */
async function slice(
  { server, what, prepare }: Subject,
  forMs: number,
  leadInMs = 0,
): Promise<{ result: LoadResult; cpu: number }> {
  const drive = await prepare();
  const { pid, port } = server;
  const run = (milliseconds: number) =>
    drive.kind === "own"
      ? drive.run(milliseconds)
      : runLoad({ port, connections: CONNECTIONS, forMs: milliseconds, ...drive }).catch((error: unknown) => {
          throw new Error(`${what}: ${messageOf(error)}`);
        });
  if (leadInMs > 0) await run(leadInMs);
  const before = cpuMicroseconds(pid);
  const result = await run(forMs);
  return { result, cpu: cpuMicroseconds(pid) - before };
}
