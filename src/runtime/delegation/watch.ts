/** One delegation from the moment its child holds its task to its close: watched, ended where it must be, reported once. */

import { within } from "../clock.ts";
import type { Arrival, Next } from "./arrival.ts";
import {
  BACKSTOP_EXTRA_SECS,
  type Claim,
  type ClosedDelegation,
  closeAtBackstop,
  closeEnded,
  closeExited,
  closeReceived,
  reported,
  type Verdict,
} from "./closing.ts";
import type { DelegationIdentity } from "./identity.ts";
import {
  EXIT_AFTER_COMPLETION_MS,
  pastDeadline,
  recordOf,
  type Watching,
  watchLeftMs,
} from "./watched-child.ts";

export interface WatchedDelegation {
  readonly identity: DelegationIdentity;
  /** Settles once, and never rejects for anything that the child does. */
  readonly closed: Promise<ClosedDelegation>;
  /** The task ends it; a child that is gone already, or whose completion was received, keeps its own outcome. */
  end(reason: string): void;
}

/** Watches a delegation. Its door has to be told of `arrived` before the child can post: see `awaitCompletion`. */
export function watchDelegation(watching: Watching, arrival: Arrival): WatchedDelegation {
  const { session, child, watchSecs, identity } = watching;
  const { clock } = session;
  const asked = Promise.withResolvers<Next>();
  const deadline = Promise.withResolvers<Next>();
  const backstop = Promise.withResolvers<"backstop">();
  const watchMs = watchLeftMs(watching);
  const stopDeadline = clock.after(watchMs, () => deadline.resolve({ kind: "deadline" }));
  const stopBackstop = clock.after(watchMs + BACKSTOP_EXTRA_SECS * 1000, () => backstop.resolve("backstop"));
  const claim: Claim = { abandoned: false };

  const live = async (): Promise<Verdict | undefined> => {
    const exited = child.exited.then((): Next => ({ kind: "exited" }));
    for (;;) {
      // The order decides between what has happened at once: a child that is gone keeps its own outcome.
      const next = await Promise.race([exited, asked.promise, deadline.promise, arrival.next()]);
      if (claim.abandoned) return undefined;
      switch (next.kind) {
        case "exited":
          return closeExited(watching, claim);
        case "end":
          return closeEnded(watching, claim, arrival, { byTask: true, reason: next.reason });
        case "deadline":
          return closeEnded(watching, claim, arrival, { byTask: false, reason: pastDeadline(watchSecs) });
        case "arrived": {
          const settled = Promise.race([exited, asked.promise, deadline.promise]);
          const then = await within(clock, EXIT_AFTER_COMPLETION_MS, settled);
          if (claim.abandoned) return undefined;
          if (then !== "late" && then.value.kind === "exited") return closeExited(watching, claim);
          const left = recordOf(watching);
          if (left) return closeReceived(watching, claim, left);
          // A post without a record is no outcome: anything on loopback can make one.
          arrival.again();
          break;
        }
        default:
          next satisfies never;
      }
    }
  };

  const close = async () => {
    try {
      const first = await Promise.race([live(), backstop.promise]);
      const verdict = first === "backstop" || !first ? await closeAtBackstop(watching, claim) : first;
      // An outcome that is there is read to its end, however long its answer is.
      stopDeadline();
      stopBackstop();
      return await reported(watching, verdict);
    } finally {
      stopDeadline();
      stopBackstop();
      child.release();
    }
  };
  return { identity, closed: close(), end: (reason) => asked.resolve({ kind: "end", reason }) };
}
