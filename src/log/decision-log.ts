/** The decision log on stderr: one line for each grant, refusal, registration and retirement. */

import { type ConsolaInstance, createConsola, LogLevels } from "consola/core";
import { formatFields, type LogFields, logLine } from "./fields.ts";
import type { LineBuffer } from "./line-buffer.ts";

export type DecisionLog = ReturnType<typeof createDecisionLog>;

/** Lines per second for callers whose token did not verify, or who sent none. */
const UNVERIFIED_LINES_A_SECOND = 100;

/** The level in consola's own variable, `CONSOLA_LEVEL`, if it is a number; else consola's default. */
function levelFrom(environment: NodeJS.ProcessEnv): number {
  const text = environment.CONSOLA_LEVEL?.trim() ?? "";
  return /^-?[0-9]+$/.test(text) ? Number(text) : LogLevels.info;
}

export function createDecisionLog(environment: NodeJS.ProcessEnv, lines: LineBuffer) {
  const consola: ConsolaInstance = createConsola({
    level: levelFrom(environment),
    // consola folds repeated lines, but each decision needs its own line.
    throttle: 0,
    reporters: [{ log: ({ date, type, args }) => lines.add(logLine(type, String(args[0]), date)) }],
  });
  const refused = (fields: LogFields): void => {
    if (consola.level >= LogLevels.warn) consola.warn(formatFields(fields));
  };
  const unverified = new RateLimit(UNVERIFIED_LINES_A_SECOND, (count) =>
    refused({ event: "refusals-not-shown", count }),
  );
  return {
    granted(fields: LogFields): void {
      if (consola.level >= LogLevels.info) consola.info(formatFields(fields));
    },
    /** A refusal of a caller whose token verified. */
    refused,
    /** A refusal of any other caller. Anyone can cause these lines, so their number per second is limited. */
    refusedUnverified(fields: LogFields): void {
      if (unverified.admits()) refused(fields);
    },
    /** A fault of the daemon itself. */
    failed: (fields: LogFields): void => consola.error(formatFields(fields)),
    /** Logs how many lines were held back and not yet reported. */
    close: (): void => unverified.close(),
  };
}

const WINDOW_MS = 1000;

/** Limits how many of a kind pass per second. The others are counted, and the count is reported after the second. */
export class RateLimit {
  #admitted = 0;
  #refused = 0;
  #isOpen = false;

  /**
   * @param limit how many are let through in a second
   * @param tell gets the number held back, at most once a second
   * @param after runs an action after a number of milliseconds
   */
  constructor(
    readonly limit: number,
    readonly tell: (count: number) => void,
    readonly after: (ms: number, action: () => void) => void = (ms, action) => {
      setTimeout(action, ms).unref();
    },
  ) {}

  admits(): boolean {
    // The second starts with the first event, so no timer runs while nothing happens.
    if (!this.#isOpen) {
      this.#isOpen = true;
      this.after(WINDOW_MS, () => this.close());
    }
    if (this.#admitted < this.limit) {
      this.#admitted++;
      return true;
    }
    this.#refused++;
    return false;
  }

  /** Ends the second now. */
  close(): void {
    const count = this.#refused;
    this.#isOpen = false;
    this.#admitted = this.#refused = 0;
    if (count > 0) this.tell(count);
  }
}
