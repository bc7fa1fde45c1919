/** The decision log on stderr: one line for each grant, refusal, registration and retirement. */

import { type ConsolaInstance, createConsola, LogLevels } from "consola/core";
import { formatFields, type LogFields, logLine } from "./fields.ts";
import type { LineBuffer } from "./line-buffer.ts";
import { RateLimit } from "./rate-limit.ts";

export type { LogFields } from "./fields.ts";

export interface DecisionLog {
  granted(fields: LogFields): void;
  /** A refusal of a caller whose token verified. */
  refused(fields: LogFields): void;
  /** A refusal of any other caller. Anyone can cause these lines, so their number per second is limited. */
  refusedUnverified(fields: LogFields): void;
  /** A fault of the daemon itself. */
  failed(fields: LogFields): void;
  /** Logs how many lines were held back and not yet reported. */
  close(): void;
}

/** Lines per second for callers whose token did not verify, or who sent none. */
const UNVERIFIED_LINES_A_SECOND = 100;

/** The level in consola's own variable, `CONSOLA_LEVEL`, if it is a number; else consola's default. */
function levelFrom(environment: NodeJS.ProcessEnv): number {
  const text = environment.CONSOLA_LEVEL?.trim() ?? "";
  return /^-?[0-9]+$/.test(text) ? Number(text) : LogLevels.info;
}

export function createDecisionLog(environment: NodeJS.ProcessEnv, lines: LineBuffer): DecisionLog {
  const consola: ConsolaInstance = createConsola({
    level: levelFrom(environment),
    // consola folds repeated lines, but each decision needs its own line.
    throttle: 0,
    reporters: [{ log: ({ date, type, args }) => lines.add(logLine(type, String(args[0]), date)) }],
  });
  const refused = (fields: LogFields) => {
    if (consola.level >= LogLevels.warn) consola.warn(formatFields(fields));
  };
  const unverified = new RateLimit(UNVERIFIED_LINES_A_SECOND, (count) =>
    refused({ event: "refusals-not-shown", count }),
  );
  return {
    granted(fields) {
      if (consola.level >= LogLevels.info) consola.info(formatFields(fields));
    },
    refused,
    refusedUnverified(fields) {
      if (unverified.admits()) refused(fields);
    },
    failed: (fields) => consola.error(formatFields(fields)),
    close: () => unverified.close(),
  };
}
