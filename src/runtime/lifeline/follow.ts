/** What a child does when its spawner has ended (roost-api, "A child ends with its parent"). */

import type { Clock } from "../clock.ts";
import type { HeldLifeline } from "./child.ts";

/** The status of a program that SIGTERM ended, as a shell counts it. */
export const TERMINATED_STATUS = 143;
/** A teardown that still runs this long after the end of the spawner is cut short. */
const TEARDOWN_MS = 20_000;

/** A script child exits at once; an agent child winds down as a first SIGTERM winds it down. */
export type Ending =
  | { readonly kind: "script" }
  | {
      readonly kind: "agent";
      /** Appends `spawner_ended` to the trace. Not called where a wind-down had begun before. */
      readonly recordSpawnerEnded: () => void;
      /** Cancels what is live, ends the session, and comes back with the exit status. Called once. */
      readonly windDown: () => Promise<number>;
    };

export interface Process {
  /** Registers the handler of a first SIGTERM or SIGINT. */
  readonly onTerminate: (handler: () => void) => void;
  readonly exit: (status: number) => void;
}

export const thisProcess: Process = {
  onTerminate(handler) {
    process.once("SIGTERM", handler);
    process.once("SIGINT", handler);
  },
  exit: (status) => process.exit(status),
};

/**
 * Ends this process with its spawner and, for an agent, with a first SIGTERM or SIGINT; a second signal ends it at
 * once, as it would a program that handles none.
 */
export function endWithSpawner(
  { lifeline, clock }: { readonly lifeline: HeldLifeline | undefined; readonly clock: Clock },
  ending: Ending,
  self: Process = thisProcess,
): void {
  let begun = false;
  const windDown = (agent: Extract<Ending, { kind: "agent" }>) => {
    if (begun) return;
    begun = true;
    agent.windDown().then(self.exit, () => self.exit(1));
  };
  if (ending.kind === "agent") self.onTerminate(() => windDown(ending));
  lifeline?.ended.then(() => {
    if (ending.kind === "script") return self.exit(TERMINATED_STATUS);
    clock.after(TEARDOWN_MS, () => self.exit(TERMINATED_STATUS));
    if (!begun) ending.recordSpawnerEnded();
    windDown(ending);
  });
}
