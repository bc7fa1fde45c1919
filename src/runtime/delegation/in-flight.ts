/** What a task has in flight: what it is starting, what it watches, and what closed since its model was last told. */

import type { ClosedDelegation } from "./close.ts";
import { createUnderWay, type UnderWay } from "./under-way.ts";
import type { WatchedDelegation } from "./watch.ts";

export interface InFlight {
  /** Tool calls that are launching a child, and a plan's steps. */
  readonly underWay: UnderWay;
  /** Aborts, with the reason, once the task has ended or was cancelled. The task is told nothing after that. */
  readonly over: AbortSignal;
  /** Settles once `over` has aborted. */
  readonly isOver: Promise<void>;
  /** The ids of everything in flight, in launch order. */
  ids(): string[];
  /** The number of watched delegations. */
  outstanding(): number;
  /** Its child has its task. The delegation is outstanding until it closes; from then on it is part of the round. */
  add(delegation: WatchedDelegation): void;
  /** Sets the listener, which is told at each close how many are still outstanding. A new one replaces the old. */
  onClose(listener: (outstanding: number) => void): void;
  /** Takes what has closed and was not taken before, in id order. */
  takeRound(): ClosedDelegation[];
  /** Settles once every child has been ended and reaped, and every launch has settled. */
  allEnded(): Promise<void>;
  /** The task is over, for `reason`: ends and reaps every child. No outcome is told any more. */
  endAll(reason: string): Promise<void>;
}

export function createInFlight(): InFlight {
  const underWay = createUnderWay();
  const watched = new Map<string, WatchedDelegation>();
  const over = new AbortController();
  const isOver = new Promise<void>((resolve) =>
    over.signal.addEventListener("abort", () => resolve(), { once: true }),
  );
  let round: ClosedDelegation[] = [];
  let closed: (outstanding: number) => void = () => {};

  const add = (delegation: WatchedDelegation) => {
    const { delegationId } = delegation.identity;
    watched.set(delegationId, delegation);
    // The delegating task ended while this child was accepting its own.
    if (over.signal.aborted) delegation.end(String(over.signal.reason));
    void delegation.closed.then((one) => {
      watched.delete(delegationId);
      round.push(one);
      closed(watched.size);
    });
  };

  const allEnded = async () => {
    while (underWay.any() || watched.size > 0) {
      await underWay.settled();
      await Promise.all([...watched.values()].map((delegation) => delegation.closed));
    }
  };

  return {
    underWay,
    over: over.signal,
    isOver,
    ids: () => [...new Set([...underWay.ids(), ...watched.keys()])].sort(),
    outstanding: () => watched.size,
    add,
    onClose(listener) {
      closed = listener;
    },
    takeRound() {
      const taken = round.sort(byId);
      round = [];
      return taken;
    },
    allEnded,
    async endAll(reason) {
      over.abort(reason);
      for (const delegation of watched.values()) delegation.end(reason);
      await allEnded();
      round = [];
    },
  };
}

function byId(one: ClosedDelegation, other: ClosedDelegation): number {
  return one.identity.delegationId < other.identity.delegationId ? -1 : 1;
}
