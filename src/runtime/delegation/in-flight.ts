/** What a task has in flight, and the round in which it waits for that (API page, "How the outcome arrives"). */

import { messageOf } from "../../os-error.ts";
import { unlessAborted } from "../clock.ts";
import type { ClosedDelegation } from "./close.ts";
import type { WatchedDelegation } from "./watch.ts";

export type InFlight = ReturnType<typeof createInFlight>;

/** What a task is starting, what it watches, and what closed since its model was last told. */
export function createInFlight() {
  const underWay = createUnderWay();
  const watched = new Map<string, WatchedDelegation>();
  const over = new AbortController();
  let round: ClosedDelegation[] = [];
  let closed: (outstanding: number) => void = () => {};

  const allEnded = async () => {
    while (underWay.any() || watched.size > 0) {
      await underWay.settled();
      await Promise.all([...watched.values()].map((delegation) => delegation.closed));
    }
  };

  return {
    underWay,
    /** Aborts, with the reason, once the task has ended or was cancelled. The task is told nothing after that. */
    over: over.signal,
    /** The ids of everything in flight, in launch order. */
    ids: () => [...new Set([...underWay.ids(), ...watched.keys()])].sort(),
    /** The number of watched delegations. */
    outstanding: () => watched.size,
    /** Its child has its task. The delegation is outstanding until it closes; from then on it is part of the round. */
    add(delegation: WatchedDelegation) {
      watched.set(delegation.id, delegation);
      // The delegating task ended while this child was accepting its own.
      if (over.signal.aborted) delegation.end(String(over.signal.reason));
      void delegation.closed.then((one) => {
        watched.delete(delegation.id);
        round.push(one);
        closed(watched.size);
      });
    },
    /** Sets the listener, which is told at each close how many are still outstanding. A new one replaces the old. */
    onClose(listener: (outstanding: number) => void) {
      closed = listener;
    },
    /** Takes what has closed and was not taken before, in id order. */
    takeRound() {
      const taken = round.sort(byId);
      round = [];
      return taken;
    },
    /** Settles once every child has been ended and reaped, and every launch has settled. */
    allEnded,
    /** The task is over, for `reason`: ends and reaps every child. No outcome is told any more. */
    async endAll(reason: string) {
      over.abort(reason);
      for (const delegation of watched.values()) delegation.end(reason);
      await allEnded();
      round = [];
    },
  };
}

function byId({ identity: one }: ClosedDelegation, { identity: other }: ClosedDelegation): number {
  return one.delegationId < other.delegationId ? -1 : 1;
}

/** What a task has begun but does not watch yet: tool calls that are launching a child, and a plan's steps. */
function createUnderWay() {
  /** Settles with the work, and the ids that it has started. */
  const works = new Map<Promise<void>, string[]>();
  return {
    /** Runs the work. Each id that the work reports as started is in flight until the work settles. */
    async run<T>(work: (onStarted: (id: string) => void) => Promise<T>): Promise<T> {
      const { promise: settled, resolve } = Promise.withResolvers<void>();
      const ids: string[] = [];
      works.set(settled, ids);
      try {
        return await work((id) => void ids.push(id));
      } finally {
        works.delete(settled);
        resolve();
      }
    },
    ids: () => [...works.values()].flat(),
    any: () => works.size > 0,
    /** Settles once everything that is under way now has settled. Never rejects. */
    settled: async () => void (await Promise.all(works.keys())),
  };
}

/** Waits, and returns the outcomes of the round, in id order; `undefined` if there is nothing to go on with. */
export async function settleRound(
  inFlight: InFlight,
  statuses: Statuses,
): Promise<readonly ClosedDelegation[] | undefined> {
  const { over } = inFlight;
  await unlessAborted(over, allClosed(inFlight, statuses));
  inFlight.onClose(() => {});
  if (over.aborted) {
    // The task is told nothing more. But if it goes on from here, none of its children may still be running.
    await inFlight.allEnded();
    return undefined;
  }
  const round = inFlight.takeRound();
  return statuses.continuing(round.length) ? round : undefined;
}

/** Waits for what is under way, then for all that is outstanding, and says meanwhile how much that is. */
async function allClosed(inFlight: InFlight, statuses: Statuses): Promise<void> {
  const { underWay, over, outstanding } = inFlight;
  const { promise: none, resolve } = Promise.withResolvers<void>();
  let lastSaid: number | undefined;
  let isSettled = false;
  const say = () => {
    if (over.aborted) return;
    lastSaid = outstanding();
    statuses.waiting(lastSaid);
  };
  inFlight.onClose(() => {
    if (outstanding() > 0) say();
    else if (isSettled) resolve();
  });
  if (underWay.any() && outstanding() > 0) say();
  await underWay.settled();
  isSettled = true;
  if (outstanding() !== lastSaid) say();
  if (outstanding() === 0) resolve();
  await Promise.all([none, statuses.alongside]);
}

/** What else the task waits for at the same time: its `call-member` calls. */
export interface AlongsideWait {
  /** The status text while something is outstanding. */
  waiting(): string | undefined;
  /** The status text once nothing is outstanding, if there is an outcome to go on with. */
  continuing(): string | undefined;
  /** Settles once nothing is outstanding. A rejection counts the same as a fulfilment. */
  readonly done: Promise<void>;
}

/** Sends a `TASK_STATE_WORKING` status. If it throws or rejects, the operator gets one line about it. */
export type Emit = (status: string) => void;

export type Statuses = ReturnType<typeof createStatuses>;

/**
 * The status texts of a waiting task, and its other wait. Guards every call into the embedding program, so that its
 * errors cannot lose an outcome or end the process.
 */
export function createStatuses(
  emit: Emit,
  alongside: AlongsideWait | undefined,
  diagnose: (line: string) => void,
) {
  const complain = (error: unknown) =>
    diagnose(`a status of a waiting task was not said: ${messageOf(error)}`);
  const guarded = <T>(act: () => T): T | undefined => {
    try {
      return act();
    } catch (error) {
      complain(error);
      return undefined;
    }
  };
  const say = (own: string | undefined, other: string | undefined): boolean => {
    const texts = [own, other].filter((text) => text !== undefined);
    if (texts.length === 0) return false;
    // The type allows a function that returns a promise, so we handle its rejection too.
    const said: unknown = guarded(() => emit(texts.join("; ")));
    if (said instanceof Promise) said.catch(complain);
    return true;
  };
  return {
    /** Says how many delegations are outstanding and what the other wait says; nothing if there is neither. */
    waiting(outstanding: number) {
      const own = `waiting on delegate-task: ${outstanding} delegation(s) outstanding`;
      const other = guarded(() => alongside?.waiting());
      say(outstanding > 0 ? own : undefined, other);
    },
    /** Says that the task goes on with this many outcomes. Returns whether there is anything to go on with. */
    continuing(outcomes: number) {
      const own = `continuing with ${outcomes} delegation outcome(s)`;
      const other = guarded(() => alongside?.continuing());
      return say(outcomes > 0 ? own : undefined, other);
    },
    /** Settles once nothing else is outstanding. Never rejects. */
    alongside: Promise.resolve(alongside?.done).catch(complain),
  };
}
