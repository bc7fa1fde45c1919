/** What a child does when its spawner has ended (API page, "A child ends with its parent"). */

import { messageOf } from "../../os-error.ts";
import { type Clock, within } from "../clock.ts";
import { type HeldLifeline, TEARDOWN_MS, TERMINATED_STATUS } from "../contract/lifeline.ts";
import { HURRIED_GRACE_MS } from "../launch/held-process.ts";
import { isEnding, takeOverSignals } from "./early-signals.ts";
import { deregister } from "./registration.ts";
import type { Session } from "./session.ts";
import { asOwn, type EndSignal, isLeftToProgram, signalsToHear } from "./signals.ts";

/** How long a script child, or an agent whose wind-down failed, may take to give its slot back before it exits. */
const RETIRE_MS = 250;
/** How long a script child may live after its spawner's end, whatever its main thread does. */
const SCRIPT_MS = 1_000;

/**
 * How long before it is killed an agent's slot is given back, whether or not it has wound down. A hurried one is killed
 * after 3 s (`endAll` of its spawner, if that is hurried too), or else after 5 s.
 */
const SLOT_EARLIER_MS = 500;

/** What asks a process to end: a first SIGTERM, SIGINT or SIGHUP, or the end of its spawner. */
export type EndedBy = "signal" | "spawner";

/** A script child retires and exits at once. An agent child winds down as it would after a first SIGTERM. */
export type Ending =
  | { readonly kind: "script" }
  | {
      readonly kind: "agent";
      /** Appends `spawner_ended` to the trace. Not called if a wind-down had already begun. */
      readonly recordSpawnerEnded: () => void;
      /**
       * Cancels what is running, ends the session, and returns the exit status. Called once. If it throws or rejects, the
       * operator gets one line, the slot is given back, and the exit status is 1.
       */
      readonly windDown: (by: EndedBy) => Promise<number>;
    };

/** What to end: a session, or whatever exists of one so far. */
export interface Followed
  extends Partial<Pick<Session, "registration" | "directories" | "hurry" | "diagnose">> {
  readonly lifeline: HeldLifeline | undefined;
  readonly clock: Clock;
}

export interface Process {
  /** Registers the handler of SIGTERM, SIGINT and SIGHUP: of the first one, or of all. */
  readonly onTerminate: (handler: (signal: EndSignal) => void, which: "first" | "all") => void;
  readonly exit: (status: number) => void;
}

const thisProcess: Process = {
  onTerminate(handler, which) {
    const listener = asOwn((signal: EndSignal) => {
      if (isLeftToProgram(signal)) return;
      // SIGHUP does not count: when a terminal goes, it comes twice, from the kernel and from the shell.
      if (which === "first" && signal !== "SIGHUP") {
        for (const one of ["SIGTERM", "SIGINT"] as const) process.off(one, listener);
      }
      handler(signal);
    });
    // Before the program's own ones: one that is called once is not counted any more while it runs.
    for (const signal of signalsToHear()) process.prependListener(signal, listener);
  },
  exit: (status) => process.exit(status),
};

/**
 * Ends this process when its spawner ends, or on a first SIGTERM, SIGINT or SIGHUP. A script first gives its slot back to
 * the daemon, if that takes no longer than 250 ms.
 *
 * A second SIGTERM or SIGINT ends the process at once, as if the program handled no signals. But if it has a lifeline,
 * it ignores further ones: who stops a whole process group signals a child that its parent signals too, and the parent
 * ends it after its 5 s anyway. SIGHUP is never a second signal. It does nothing if it was ignored at the start, as under
 * `nohup`, or if the program listens for it itself.
 *
 * After the spawner's end a script has 1 s and an agent 20 s. Then the process exits with status 143, even if its main
 * thread is busy. Half a second before that, or before its spawner's SIGKILL, an agent that still winds down gives its slot
 * back.
 */
export function endWithSpawner(followed: Followed, ending: Ending, self: Process = thisProcess): void {
  const { lifeline, clock, hurry, directories, registration } = followed;
  // A signal came before, and retires it.
  if (directories && isEnding(directories)) return;
  let begun = false;
  const end = (by: EndedBy) => {
    if (begun) return;
    begun = true;
    if (ending.kind === "script") return exitRetired(followed, self, TERMINATED_STATUS);
    const warn = (what: string, error: unknown) =>
      followed.diagnose?.(`warning: ${what} failed: ${messageOf(error)}`);
    // Both are the program's own, and may throw at once or later.
    const recordEnd = async () => by === "spawner" && ending.recordSpawnerEnded();
    const windDown = async () => ending.windDown(by);
    recordEnd().catch((error) => warn("recording the spawner's end", error));
    windDown().then(self.exit, (error) => {
      warn("winding down", error);
      exitRetired(followed, self, 1);
    });
  };
  self.onTerminate(
    (signal) => {
      if (lifeline && signal === "SIGTERM") hurry?.abort();
      end("signal");
    },
    lifeline ? "all" : "first",
  );
  if (directories) takeOverSignals(directories);
  // Without a report: how the work ends is not known yet.
  const giveSlotBackAfter = (ms: number) =>
    clock.after(ms - SLOT_EARLIER_MS, () => void (registration && deregister(registration, "failed")));
  if (ending.kind === "agent") {
    hurry?.signal.addEventListener("abort", () => giveSlotBackAfter(HURRIED_GRACE_MS));
    lifeline?.ended.then(() => giveSlotBackAfter(TEARDOWN_MS));
  }
  lifeline?.exitAfter(ending.kind === "script" ? SCRIPT_MS : TEARDOWN_MS);
  lifeline?.ended.then(() => {
    if (ending.kind === "agent") clock.after(TEARDOWN_MS, () => self.exit(TERMINATED_STATUS));
    end("spawner");
  });
}

/** Gives its slot and its runtime directory back, as far as the short time allows, and exits with this status. */
function exitRetired({ registration, directories, clock }: Followed, self: Process, status: number): void {
  const exit = () => self.exit(status);
  const steps = [registration && deregister(registration, "failed"), directories?.removeRuntime()].filter(
    (step) => step !== undefined,
  );
  if (steps.length === 0) exit();
  else void within(clock, RETIRE_MS, Promise.allSettled(steps)).then(exit, exit);
}
