/** The bench's switches. */

import { parseArgs } from "node:util";
import { messageOf } from "../src/os-error.ts";

export interface Options {
  /** Interleaved rounds of the throughput rows. */
  readonly rounds: number;
  /** How long each row runs in each round. */
  readonly sliceMs: number;
  /** How long it runs before that, unmeasured, because an idle server has given memory back. */
  readonly leadInMs: number;
  /** How long each server is driven before anything is counted. */
  readonly warmMs: number;
  /** Reservations that the asking session holds. */
  readonly reservations: number;
  /** Sessions that have come and gone. */
  readonly finished: number;
  /** The same for the long rows; 0 leaves them out. */
  readonly finishedLong: number;
  /** How often the rows that are measured one event at a time are repeated. */
  readonly repeats: number;
  /** Size of the artifact that is hashed cold, in MiB. */
  readonly coldMiB: number;
  readonly records: number;
  readonly liveRecords: number;
  /** An executable to measure instead of the one that the bench compiles. */
  readonly executable: string | undefined;
}

export const USAGE = `usage: npm run bench -- [--long] [--quick] [--rounds N] [--executable PATH]
  --long          adds the rows after 1,000,000 finished sessions (some minutes more)
  --quick         a few seconds of everything, to see that it runs; its figures mean nothing
  --rounds N      interleaved rounds of the throughput rows (default 9)
  --executable P  measures this mur-roost, and writes its figures to dist/bench
`;

const FULL = {
  rounds: 9,
  sliceMs: 350,
  leadInMs: 120,
  warmMs: 1500,
  reservations: 50_000,
  finished: 100_000,
  finishedLong: 0,
  repeats: 7,
  coldMiB: 256,
  records: 10_000,
  liveRecords: 1_000,
  executable: undefined,
} satisfies Options;

/** Enough to run every line of the bench once. */
export const QUICK: Options = {
  ...FULL,
  rounds: 1,
  sliceMs: 10,
  leadInMs: 5,
  warmMs: 10,
  reservations: 200,
  finished: 200,
  repeats: 1,
  coldMiB: 4,
  records: 50,
  liveRecords: 5,
};

/** The options, or one sentence about what is wrong with the arguments. */
export function readOptions(argv: readonly string[]): Options | string {
  try {
    const { values } = parseArgs({
      args: [...argv],
      options: {
        long: { type: "boolean" },
        quick: { type: "boolean" },
        rounds: { type: "string" },
        executable: { type: "string" },
      },
    });
    const base = values.quick ? QUICK : FULL;
    const rounds = Number(values.rounds ?? base.rounds);
    if (!Number.isSafeInteger(rounds) || rounds < 1) return "--rounds takes a whole number from 1";
    const finishedLong = values.long ? 1_000_000 : 0;
    return { ...base, rounds, finishedLong, executable: values.executable };
  } catch (error) {
    return messageOf(error);
  }
}
