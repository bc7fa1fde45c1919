/** How a process ended. */

import { constants } from "node:os";
import type { Wait } from "../../sys/process.ts";

/** What is known of a process that has ended, or that cannot be reaped. */
export type ExitStatus =
  | { readonly kind: "exited"; readonly status: number }
  | { readonly kind: "signaled"; readonly signal: string; readonly number: number }
  /**
   * Its status could not be collected. `lost`: it is gone, and the system kept no status. `unreaped`: it has exited or
   * was killed, but something else, such as a debugger, prevents reaping.
   */
  | { readonly kind: "lost" | "unreaped"; readonly why: string };

const NAMES = new Map<number, string>();
for (const [name, number] of Object.entries(constants.signals)) {
  // Some numbers have two names (SIGABRT, SIGIOT). The first is the usual one.
  if (!NAMES.has(number)) NAMES.set(number, name);
}

/** What the system says about it. A real-time signal has no name. */
export function exitStatusOf(wait: Wait): ExitStatus {
  if (wait.kind === "exited") return wait;
  const { number } = wait;
  return { kind: "signaled", signal: NAMES.get(number) ?? `SIG${number}`, number };
}

/** `exit status: 1`, `signal: 9 (SIGKILL)`. */
export function describeExit(status: ExitStatus): string {
  switch (status.kind) {
    case "exited":
      return `exit status: ${status.status}`;
    case "signaled":
      return `signal: ${status.number} (${status.signal})`;
    case "lost":
    case "unreaped":
      return `exit status: unknown, ${status.why}`;
    default:
      return status satisfies never;
  }
}
