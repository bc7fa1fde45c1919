/** Runs the steps of a release one after another, saying what each did and how long it took. */
import { messageOf } from "../../src/os-error.ts";
import { fault, type Result } from "../../src/result.ts";

export type Step = {
  /** The platform, or `release` for the whole release. */
  readonly target: string;
  readonly name: string;
  /** Gives what the step found, in a few words. */
  readonly run: () => Promise<Result<string, string>>;
};

/**
 * Stops at the first fault and returns it, with the target and the step.
 *
 * @param write takes one line of progress
 * @param clock monotonic milliseconds
 * @param interrupted checked before each step; once aborted, no further step starts
 */
export async function runSteps(
  steps: readonly Step[],
  write: (line: string) => void,
  clock: () => number,
  interrupted: AbortSignal,
): Promise<Result<undefined, string>> {
  for (const step of steps) {
    const started = clock();
    const outcome = await attempt(step, interrupted);
    if (!outcome.ok) return fault(`${step.target}: ${step.name}: ${outcome.fault}`);
    const seconds = ((clock() - started) / 1000).toFixed(1);
    write(`${step.target.padEnd(14)} ${step.name.padEnd(17)} ${seconds.padStart(5)} s  ${outcome.value}`);
  }
  return { ok: true, value: undefined };
}

async function attempt(step: Step, interrupted: AbortSignal): Promise<Result<string, string>> {
  try {
    const outcome = interrupted.aborted ? fault("not begun") : await step.run();
    return interrupted.aborted ? fault(`interrupted by ${String(interrupted.reason)}`) : outcome;
  } catch (error) {
    return fault(messageOf(error));
  }
}
