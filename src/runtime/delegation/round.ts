/** One round of a task: wait, then go on with what has closed (API page, "How the outcome arrives"). */

import type { ClosedDelegation } from "./close.ts";
import type { InFlight } from "./in-flight.ts";
import type { Statuses } from "./statuses.ts";

/** The outcomes of the round, in id order; `undefined` if there is nothing to go on with. */
export async function settleRound(
  inFlight: InFlight,
  statuses: Statuses,
): Promise<readonly ClosedDelegation[] | undefined> {
  const { underWay, over, isOver } = inFlight;
  await Promise.race([underWay.settled(), isOver]);
  if (!over.aborted) await Promise.race([outstandingClosed(inFlight, statuses), isOver]);
  inFlight.onClose(() => {});
  if (over.aborted) {
    // The task is told nothing more. But if it goes on from here, none of its children may still be running.
    await inFlight.allEnded();
    return undefined;
  }
  const round = inFlight.takeRound();
  return statuses.continuing(round.length) ? round : undefined;
}

async function outstandingClosed(inFlight: InFlight, statuses: Statuses): Promise<void> {
  const { promise: none, resolve } = Promise.withResolvers<void>();
  inFlight.onClose((outstanding) => {
    if (outstanding === 0) resolve();
    else if (!inFlight.over.aborted) statuses.waiting(outstanding);
  });
  statuses.waiting(inFlight.outstanding());
  if (inFlight.outstanding() === 0) resolve();
  await Promise.all([none, statuses.alongside]);
}
