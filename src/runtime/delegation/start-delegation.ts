/** One call of `delegate-task`, after its arguments were read: launch a child, hand it its task, then watch it. */

import { bareName } from "../../registry/artifact-name.ts";
import { fault } from "../../result.ts";
import { delegationTimeoutSecs } from "../contract/environment.ts";
import { launch as launchChild } from "../launch/launch.ts";
import type { LaunchedChild } from "../launch/outcome.ts";
import { awaitCompletions } from "./arrivals.ts";
import type { DelegationRequest } from "./delegate-task.ts";
import type { TaskDelegationsOptions } from "./delegating-task.ts";
import { deliverTask } from "./delivery.ts";
import { abandon } from "./ended-child.ts";
import { handOver } from "./hand-over.ts";
import { identityOf } from "./identity.ts";
import type { InFlight } from "./in-flight.ts";
import { failureText } from "./quoted.ts";
import { type DelegateTaskResult, failed, refused, started } from "./tool-result.ts";
import { traceClose, traceStart } from "./trace.ts";
import { watchDelegation } from "./watch.ts";
import type { Watching } from "./watched-child.ts";

/** @param signal gives up the call, but not a delegation that it already started */
export function startDelegation(
  task: TaskDelegationsOptions,
  inFlight: InFlight,
  asked: DelegationRequest,
  signal: AbortSignal,
): Promise<DelegateTaskResult> {
  const { session, contextId, doorUrl: completionDoor, launch = launchChild } = task;
  const { name, version } = asked;
  const since = session.clock.elapsed();
  return inFlight.underWay.run(async (onStarted) => {
    const request = { name, version, contextId, completionDoor, signal, onStarted };
    const outcome = await launch(session, request);
    if (outcome.kind === "refused") {
      traceClose(session, asked, since, "refused", outcome.sentence);
      return refused(outcome.sentence);
    }
    if (outcome.kind === "failed") {
      const { started: ids } = outcome.failure;
      const message = failureText(name, outcome.failure);
      traceClose(session, { ...asked, ...ids }, since, "failed", message);
      return failed(asked, message, ids);
    }
    onStarted(outcome.child.delegationId);
    return delegateTo(outcome.child, task, inFlight, { asked, signal, since });
  });
}

interface Call {
  readonly asked: DelegationRequest;
  readonly signal: AbortSignal;
  /** When the call was made, by the session's clock. */
  readonly since: number;
}

/** Hands a child that is ready its task. */
async function delegateTo(
  child: LaunchedChild,
  { session, door, deliver = deliverTask }: TaskDelegationsOptions,
  inFlight: InFlight,
  { asked, signal, since }: Call,
): Promise<DelegateTaskResult> {
  // Do this before the child gets its task: after that, it could report that it is done.
  const arrivals = awaitCompletions(door, child.delegationId);
  const identity = identityOf(child);
  const watchSecs = delegationTimeoutSecs(session.environment, session.manifest.delegationDeadlineSecs);
  const watching: Watching = { session, door, child, identity, watchSecs };
  traceStart(session, child);
  const taken = await handOver(watching, asked.task, deliver, signal).catch((error) =>
    fault(error instanceof Error ? error.message : String(error)),
  );
  if (!taken.ok) {
    const message = `${bareName(asked.name)}@${asked.version} did not take its task: ${taken.fault}`;
    await abandon(watching);
    traceClose(session, identity, since, "failed", message);
    return failed(asked, message, child);
  }
  const delegation = watchDelegation(watching, arrivals);
  // Trace it before anyone is told about it.
  void delegation.closed.then(({ outcome, reason }) => traceClose(session, identity, since, outcome, reason));
  inFlight.add(delegation);
  return started(child);
}
