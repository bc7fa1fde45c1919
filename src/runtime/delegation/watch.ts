/** One delegation from the moment its child has its task to its close: watched, ended where it must be, reported once. */

import { within } from "../clock.ts";
import { GRACE_MS } from "../launch/ending.ts";
import { describeExit } from "../launch/exit-status.ts";
import type { Arrivals } from "./arrivals.ts";
import { type ClosedDelegation, closeDelegation } from "./close.ts";
import type { DelegationEnd } from "./delegation-end.ts";
import type { DelegationIdentity } from "./identity.ts";
import { type Effect, type Happening, next, WATCHING } from "./watch-states.ts";
import {
  EXIT_AFTER_COMPLETION_MS,
  endChild,
  howItEnded,
  pastDeadline,
  recordOf,
  type Watching,
  watchLeftMs,
} from "./watched-child.ts";

/** A delegating task waits this much longer for an outcome than its child is watched. */
const BACKSTOP_EXTRA_SECS = 30;

export interface WatchedDelegation {
  readonly identity: DelegationIdentity;
  /** Settles once, and never rejects for anything that the child does. */
  readonly closed: Promise<ClosedDelegation>;
  /** The task ends it; a child that is gone already, or whose completion was received, keeps its own outcome. */
  end(reason: string): void;
}

/** Watches a delegation; its completions are awaited from before its child can post one. */
export function watchDelegation(watching: Watching, arrivals: Arrivals): WatchedDelegation {
  const asked = Promise.withResolvers<string>();
  return {
    identity: watching.identity,
    closed: watchToClose(watching, arrivals, asked.promise),
    end: asked.resolve,
  };
}

async function watchToClose(
  watching: Watching,
  arrivals: Arrivals,
  asked: Promise<string>,
): Promise<ClosedDelegation> {
  try {
    const end = await endOf(watching, arrivals, asked);
    // An outcome that is there is read to its end, however long its answer is.
    return await closeDelegation(watching, end);
  } finally {
    watching.child.release();
  }
}

/** Brings every event to the states, and does what they ask for, until it is over. */
async function endOf(watching: Watching, arrivals: Arrivals, asked: Promise<string>): Promise<DelegationEnd> {
  const { session, child, watchSecs } = watching;
  const over = Promise.withResolvers<DelegationEnd>();
  const timers: (() => void)[] = [];
  let state = WATCHING;
  const happens = (happening: Happening) => {
    // Once it is over, its child's folders are let go: nothing is read there any more.
    if (state.kind === "over") return;
    const step = next(state, { ...happening, left: readsRecord(happening) ? recordOf(watching) : undefined });
    state = step.state;
    if (state.kind === "over") over.resolve(state.end);
    for (const effect of step.effects) perform(effect, watching, later).then(tell, over.reject);
  };
  const tell = (happening: Happening | undefined) => happening && happens(happening);
  const later = (ms: number, happening: Happening) =>
    timers.push(session.clock.after(ms, () => happens(happening)));

  void child.exited.then((status) =>
    happens({ kind: "exited", lost: status.kind === "lost" ? describeExit(status) : undefined }),
  );
  void asked.then((reason) => happens({ kind: "task", reason }));
  const watchMs = watchLeftMs(watching);
  const backstopSecs = watchSecs + BACKSTOP_EXTRA_SECS;
  later(watchMs, { kind: "deadline", reason: pastDeadline(watchSecs) });
  later(watchMs + BACKSTOP_EXTRA_SECS * 1000, {
    kind: "backstop",
    reason: `no outcome reached the delegating task within ${backstopSecs}s of this sub-capsule starting`,
  });
  arrivals.listen(() => happens({ kind: "arrived" }));
  try {
    return await over.promise;
  } finally {
    for (const stop of timers) stop();
  }
}

/** Anything on loopback can post completions, any number of them: none of them costs a look at the child's files. */
function readsRecord({ kind }: Happening): boolean {
  return kind !== "arrived" && kind !== "explained";
}

/** @returns what happened by it, where that does not come by `later` or is nothing */
async function perform(
  effect: Effect,
  watching: Watching,
  later: (ms: number, happening: Happening) => void,
): Promise<Happening | undefined> {
  const { session, door, child, identity } = watching;
  switch (effect) {
    case "await-exit":
      later(EXIT_AFTER_COMPLETION_MS, { kind: "overdue" });
      return undefined;
    case "refuse-completions":
      door.ending(identity.delegationId);
      return undefined;
    case "end-child":
      await endChild(watching);
      return { kind: "ended" };
    case "end-child-in-time":
      await within(session.clock, GRACE_MS + 1_000, endChild(watching));
      return { kind: "ended" };
    case "explain":
      return { kind: "explained", how: await howItEnded(child) };
    default:
      return effect satisfies never;
  }
}
