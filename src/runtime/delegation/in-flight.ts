/** What a task has in flight: what it is starting, what it watches, and what has closed since its model was last told. */

import type { ClosedDelegation } from "./close.ts";
import { createUnderWay, type UnderWay } from "./under-way.ts";
import type { WatchedDelegation } from "./watch.ts";

export interface InFlight {
  /** Calls that launch, and a plan's steps. */
  readonly underWay: UnderWay;
  /** Aborts, for its reason, once the task can hear of nothing more: it has ended, or was cancelled. */
  readonly over: AbortSignal;
  /** Settles once `over` has aborted. */
  readonly isOver: Promise<void>;
  /** The ids of all of it, in launch order. */
  ids(): string[];
  /** How many delegations are watched. */
  outstanding(): number;
  /** Its child has its task: it is outstanding until it closes, and in the round from then on. */
  add(delegation: WatchedDelegation): void;
  /** Told, at each close, how many are outstanding then. One listener; the last counts. */
  onClose(listener: (outstanding: number) => void): void;
  /** What has closed and was not taken yet, in id order. */
  takeRound(): ClosedDelegation[];
  /** Settles once every child has been ended and reaped, and everything that was being launched has settled. */
  allEnded(): Promise<void>;
  /** The task is over, for `reason`: every child is ended and reaped, and nobody is told of any. */
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
    // Its task ended while the child was taking the task on.
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
