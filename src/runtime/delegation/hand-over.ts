/** Hands a ready child its task. Meanwhile the child may end, its time may run out, or the call may be given up. */

import { fault, type Result } from "../../result.ts";
import { within } from "../clock.ts";
import { describeExit } from "../launch/held-process.ts";
import type { deliverTask } from "./delivery.ts";
import { quoteLines } from "./quoted.ts";
import { pastDeadline, type Watching, watchLeftMs } from "./watched-child.ts";

/** If the child ends while its door is answering, the answer arrives within this time. */
const ANSWER_UNDER_WAY_MS = 1_000;

/**
 * Delivers the task to the child's door.
 *
 * @param signal gives the call up
 * @returns the id of the child's task. The fault is a phrase to put after "it did not take its task: ", then what the
 *   child said about it, inside a fence
 */
export async function handOver(
  watching: Watching,
  task: string,
  deliver: typeof deliverTask,
  signal: AbortSignal,
): Promise<Result<string, string>> {
  const { child, watchSecs } = watching;
  const { clock } = watching.session;
  const { door, operatorToken: token, delegationId, name, secrets } = child;
  if (!door) return fault("it bound no address");
  const over = new AbortController();
  const gone = new AbortController();
  // The child watch starts at readiness (API page, "Bounds"), so it also ends a child that takes no task.
  const stopWatch = clock.after(watchLeftMs(watching), () => over.abort("deadline"));
  try {
    const given = AbortSignal.any([signal, over.signal]);
    const delivering = deliver(
      { door, token, delegationId, name, secrets, task, signal: given, gone: gone.signal },
      clock,
    );
    const first = await Promise.race([delivering, child.exited.then(() => "ended" as const)]);
    if (first !== "ended") {
      return first.ok || !over.signal.aborted ? first : fault(pastDeadline(watchSecs));
    }
    // It may have ended because it was done, so an answer from its door still counts.
    gone.abort();
    await within(clock, ANSWER_UNDER_WAY_MS, delivering);
    over.abort("ended");
    const last = await delivering;
    if (last.ok || signal.aborted) return last;
    const lines = quoteLines(name, await child.lastStderrLines());
    return fault(`it ended before, ${describeExit(await child.exited)}${lines}`);
  } finally {
    stopWatch();
  }
}
