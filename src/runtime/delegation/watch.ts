/** One delegation from the moment its child has its task to its close: watch it, end it if needed, report it once. */

import { within } from "../clock.ts";
import { describeExit, GRACE_MS } from "../launch/held-process.ts";
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

/** How much longer than the child watch a delegating task waits for an outcome. */
const BACKSTOP_EXTRA_SECS = 30;

export interface WatchedDelegation {
  readonly identity: DelegationIdentity;
  /** Settles once. Nothing that the child does makes it reject. */
  readonly closed: Promise<ClosedDelegation>;
  /** The task ends the child. If the child has exited or reported already, its own outcome stands. */
  end(reason: string): void;
}

/** Watches a delegation. `arrivals` must be set up before the child can post a completion. */
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
    // Once there is an outcome, no deadline applies: a long answer may take a while to read.
    return await closeDelegation(watching, end);
  } finally {
    watching.child.release();
  }
}

/** Feeds each event to the state machine and performs its effects, until the delegation is over. */
async function endOf(watching: Watching, arrivals: Arrivals, asked: Promise<string>): Promise<DelegationEnd> {
  const { session, child, watchSecs } = watching;
  const over = Promise.withResolvers<DelegationEnd>();
  const timers: (() => void)[] = [];
  let state = WATCHING;
  const happens = (happening: Happening) => {
    // Once it is over, the child's directories are closed, so nothing can be read there.
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

/** Any local process can post any number of completions, so we do not read the child's files for each. */
function readsRecord({ kind }: Happening): boolean {
  return kind !== "arrived" && kind !== "explained";
}

/** @returns the event that follows at once; `undefined` if there is none, or it comes through `later` */
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
