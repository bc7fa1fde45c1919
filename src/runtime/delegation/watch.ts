/** One delegation from the moment its child has its task to its close: watch it, end it if needed, report it once. */

import { ok } from "../../result.ts";
import { within } from "../clock.ts";
import { describeExit, GRACE_MS, lookNow } from "../launch/held-process.ts";
import {
  type Delegation,
  type DelegationEnd,
  EXIT_AFTER_COMPLETION_MS,
  endChild,
  howItEnded,
  pastDeadline,
  recordOf,
  watchLeftMs,
} from "./child.ts";
import { type ClosedDelegation, closeDelegation } from "./close.ts";
import type { CompletionDoor } from "./door.ts";
import { type Effect, type Happening, next, WATCHING } from "./watch-states.ts";

/** Calls `listener` at each completion of a delegation from now on, and at once if one has already arrived. */
export type Arrivals = (listener: () => void) => void;

/** From now on the door receives completions of this delegation. */
export function awaitCompletions(door: CompletionDoor, delegationId: string): Arrivals {
  let any = false;
  let listener = () => {};
  door.await(delegationId, () => {
    any = true;
    listener();
  });
  return (told) => {
    listener = told;
    if (any) told();
  };
}

/** How much longer than the child watch a delegating task waits for an outcome. */
const BACKSTOP_EXTRA_SECS = 30;

export interface WatchedDelegation {
  readonly id: string;
  /** Settles once. Nothing that the child does makes it reject. */
  readonly closed: Promise<ClosedDelegation>;
  /** The task ends the child. If the child has exited or reported already, its own outcome stands. */
  end(reason: string): void;
}

/** Watches a delegation. `arrivals` must be set up before the child can post a completion. */
export function watchDelegation(delegation: Delegation, arrivals: Arrivals): WatchedDelegation {
  const { child } = delegation;
  const asked = Promise.withResolvers<string>();
  const closed = endOf(delegation, arrivals, asked.promise)
    // Once there is an outcome, no deadline applies: a long answer may take a while to read.
    .then((end) => closeDelegation(delegation, end))
    .finally(() => child.release());
  return { id: child.delegationId, closed, end: asked.resolve };
}

/** Feeds each event to the state machine and performs its effects, until the delegation is over. */
async function endOf(
  delegation: Delegation,
  arrivals: Arrivals,
  asked: Promise<string>,
): Promise<DelegationEnd> {
  const { session, child, watchSecs } = delegation;
  const over = Promise.withResolvers<DelegationEnd>();
  const timers: (() => void)[] = [];
  let state = WATCHING;
  let last = Promise.resolve();
  let exit: Happening | undefined;
  /** Those that need the record come one after the other, because its reading may have to wait for a free descriptor. */
  const happens = (happening: Happening) => {
    if (!readsRecord(happening)) return advance(happening, ok(undefined));
    last = last.then(() => look(happening)).catch(over.reject);
  };
  const look = async (happening: Happening) => {
    // Once it is over, the child's directories are closed, so nothing can be read there.
    if (state.kind === "over") return;
    const read = await recordOf(delegation);
    const isByTask = happening.kind === "task" || happening.kind === "deadline";
    // A child that exited while its record could not be read has not been ended.
    advance(isByTask && exit ? exit : happening, read);
  };
  const advance = (happening: Happening, read: Awaited<ReturnType<typeof recordOf>>) => {
    const left = read.ok ? { left: read.value } : { left: undefined, unread: read.fault };
    const step = next(state, { ...happening, ...left });
    state = step.state;
    if (state.kind === "over") over.resolve(state.end);
    for (const effect of step.effects) perform(effect, delegation, later).then(tell, over.reject);
  };
  const tell = (happening: Happening | undefined) => happening && happens(happening);
  /** If the child is already gone, its exit happens first, so that its own outcome stands. */
  const happensAfterExit = (happening: Happening) => {
    lookNow();
    queueMicrotask(() => happens(happening));
  };
  const later = (ms: number, happening: Happening) =>
    timers.push(session.clock.after(ms, () => happensAfterExit(happening)));

  void child.exited.then((status) => {
    exit = { kind: "exited", lost: status.kind === "lost" ? describeExit(status) : undefined };
    happens(exit);
  });
  void asked.then((reason) => happensAfterExit({ kind: "task", reason }));
  const watchMs = watchLeftMs(delegation);
  const backstopSecs = watchSecs + BACKSTOP_EXTRA_SECS;
  later(watchMs, { kind: "deadline", reason: pastDeadline(watchSecs) });
  later(watchMs + BACKSTOP_EXTRA_SECS * 1000, {
    kind: "backstop",
    reason: `no outcome reached the delegating task within ${backstopSecs}s of this sub-capsule starting`,
  });
  arrivals(() => happens({ kind: "arrived" }));
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
  delegation: Delegation,
  later: (ms: number, happening: Happening) => void,
): Promise<Happening | undefined> {
  const { session, door, child } = delegation;
  switch (effect) {
    case "await-exit":
      later(EXIT_AFTER_COMPLETION_MS, { kind: "overdue" });
      return undefined;
    case "refuse-completions":
      door.ending(child.delegationId);
      return undefined;
    case "end-child":
      await endChild(delegation);
      return { kind: "ended" };
    case "end-child-in-time":
      await within(session.clock, GRACE_MS + 1_000, endChild(delegation));
      return { kind: "ended" };
    case "explain":
      return { kind: "explained", how: await howItEnded(child) };
    default:
      return effect satisfies never;
  }
}
