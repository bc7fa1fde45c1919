/** What a child does when its spawner has ended (API page, "A child ends with its parent"). */

import type { Clock } from "../clock.ts";
import { within } from "../clock.ts";
import type { Session } from "../session/session.ts";
import { type HeldLifeline, TEARDOWN_MS } from "./child.ts";
import { TERMINATED_STATUS } from "./thread.ts";

/** How long a script child may take to give its slot at the daemon back before it exits. */
const RETIRE_MS = 250;
/** From the end of its spawner a script child has this long, whatever its main thread does. */
const SCRIPT_MS = 1_000;

/** What asks a process to end: a first SIGTERM or SIGINT, or the end of its spawner. */
export type EndedBy = "signal" | "spawner";

/** A script child retires and exits at once; an agent child winds down as a first SIGTERM winds it down. */
export type Ending =
  | { readonly kind: "script" }
  | {
      readonly kind: "agent";
      /** Appends `spawner_ended` to the trace. Not called where a wind-down had begun before. */
      readonly recordSpawnerEnded: () => void;
      /** Cancels what is live, ends the session, and comes back with the exit status. Called once. */
      readonly windDown: (by: EndedBy) => Promise<number>;
    };

/** What ends: a session, or as much of one as there is. */
export interface Followed extends Partial<Pick<Session, "registration" | "directories" | "hurry">> {
  readonly lifeline: HeldLifeline | undefined;
  readonly clock: Clock;
}

export interface Process {
  /** Registers the handler of a first SIGTERM or SIGINT. */
  readonly onTerminate: (handler: (signal?: NodeJS.Signals) => void) => void;
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
 * Ends this process with its spawner, and with a first SIGTERM or SIGINT; a second signal ends it at once, as it would a
 * program that handles none. A script gives its slot at the daemon back before, where that takes no longer than 250 ms.
 *
 * From the end of the spawner a script has 1 s and an agent 20, after which the process exits with status 143 though its
 * main thread be busy.
 */
export function endWithSpawner(followed: Followed, ending: Ending, self: Process = thisProcess): void {
  const { lifeline, clock, hurry } = followed;
  let begun = false;
  const end = (by: EndedBy) => {
    if (begun) return;
    begun = true;
    if (ending.kind === "script") return exitRetired(followed, self);
    if (by === "spawner") ending.recordSpawnerEnded();
    ending.windDown(by).then(self.exit, () => self.exit(1));
  };
  self.onTerminate((signal) => {
    if (lifeline && signal !== "SIGINT") hurry?.abort();
    end("signal");
  });
  lifeline?.exitAfter(ending.kind === "script" ? SCRIPT_MS : TEARDOWN_MS);
  lifeline?.ended.then(() => {
    if (ending.kind === "agent") clock.after(TEARDOWN_MS, () => self.exit(TERMINATED_STATUS));
    end("spawner");
  });
}

/** Its slot and its runtime directory are given back, as far as that goes in so short a time. */
function exitRetired({ registration, directories, clock }: Followed, self: Process): void {
  const exit = () => self.exit(TERMINATED_STATUS);
  const steps = [
    registration?.client.deregister("failed", registration.credential),
    directories?.removeRuntime(),
  ].filter((step) => step !== undefined);
  if (steps.length === 0) exit();
  else void within(clock, RETIRE_MS, Promise.allSettled(steps)).then(exit, exit);
}
