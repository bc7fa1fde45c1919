/** A task's delegations: what it started, what it waits for, and what becomes of them when it ends. */

import { messageOf } from "../../os-error.ts";
import { bareName, type Coordinates, coordinateText } from "../../registry/artifact-name.ts";
import { fault } from "../../result.ts";
import { delegationTimeoutSecs } from "../contract/environment.ts";
import { launch as launchChild } from "../launch/launch.ts";
import type { LaunchOutcome, LaunchRequest } from "../launch/outcome.ts";
import type { DelegatingSession, RegisteredSession } from "../session/session.ts";
import type { DoorUrl } from "../wire.ts";
import { type StepOutcome, startCapsuleStep } from "./capsule-step.ts";
import { abandon, type NotTaken } from "./child.ts";
import { joinBlocks, outcomeBlock } from "./close.ts";
import {
  type DelegateTaskResult,
  type DelegationRequest,
  failed,
  readArguments,
  refused,
  type StartedIds,
  started,
} from "./delegate-task.ts";
import type { CompletionDoor } from "./door.ts";
import { deliverTask, handOver } from "./hand-over.ts";
import {
  type AlongsideWait,
  createInFlight,
  createStatuses,
  type Emit,
  type InFlight,
  type Statuses,
  settleRound,
} from "./in-flight.ts";
import { createTrace, traceClose, traceStart, traceUnreadable } from "./trace.ts";
import { failureText } from "./untrusted.ts";
import { awaitCompletions, watchDelegation } from "./watch.ts";

/** How one attempt at a task ended. */
export type AttemptEnd =
  /** The model ended its turn; `turnsLeft` of `inference.max_turns`. */
  | { readonly kind: "finished"; readonly turnsLeft: number }
  /** It ended in any other way; this is its exit status. */
  | { readonly kind: "ended"; readonly exitStatus: string };

/** Whether a task goes on or ends after an attempt. */
export type Settlement =
  /** The task goes on in the same conversation with this text. */
  | { readonly kind: "continue"; readonly text: string; readonly delegations: readonly string[] }
  /** Nothing is outstanding, and there is no outcome left to tell the model. */
  | { readonly kind: "done" };

/** The delegations of one task. */
export interface TaskDelegations {
  /** One call of the tool. Aborting the signal gives up the call, but not a delegation that it already started. */
  call(given: unknown, signal?: AbortSignal): Promise<DelegateTaskResult>;
  /** A plan's `capsule` step of this task: in flight until it returns, and cancelled with the task. */
  step(step: Coordinates & { readonly task: string }): Promise<StepOutcome>;
  /** The ids of what is in flight, in launch order. */
  inFlight(): string[];
  /**
   * Call it after each attempt. It waits for the round and returns its outcomes, each only once, or it ends what the
   * task leaves behind. If two calls wait at once, the second gets what the first did not take.
   */
  settle(end: AttemptEnd, emit: Emit, alongside?: AlongsideWait): Promise<Settlement>;
  /**
   * The task was cancelled: stops everything it is doing, and ends and reaps every child. A second call returns the
   * same cancel.
   *
   * @returns what was in flight before the cancel, for the residue of `CancelTask`
   */
  cancel(): Promise<{ readonly delegations: readonly string[] }>;
}

/** The task that delegates, and where completions for it arrive. */
export interface TaskDelegationsOptions {
  readonly session: DelegatingSession;
  /** The session's completion door; its A2A door mounts it with `completionPlugin`. */
  readonly door: CompletionDoor;
  /** The address on which the A2A door listens, at 127.0.0.1 or [::1]. */
  readonly doorUrl: DoorUrl;
  readonly taskId: string;
  readonly contextId: string;
  /**
   * Functions that start a child and hand it its task. The real one is used for any that is left out. `launch` has to
   * call `onReported`, which leaves the line `delegation_start`.
   */
  readonly launch?: (session: RegisteredSession, asked: LaunchRequest) => Promise<LaunchOutcome>;
  readonly deliver?: typeof deliverTask;
}

/** The delegations of one task. */
export function createTaskDelegations(options: TaskDelegationsOptions): TaskDelegations {
  const { session, taskId } = options;
  const trace = createTrace(session);
  const inFlight = createInFlight();
  let settling: Promise<unknown> = Promise.resolve();
  let canceling: ReturnType<TaskDelegations["cancel"]> | undefined;

  /** Rounds run one at a time: the next one starts when this one is over. */
  const nextRound = (statuses: Statuses): Promise<Settlement> => {
    const round = settling.then(async () => {
      const closed = await settleRound(inFlight, statuses);
      if (!closed) return DONE;
      const delegations = closed.map(({ identity }) => identity.delegationId);
      trace({ event: "task_continued", task_id: taskId, delegations });
      const text = joinBlocks(closed.map(({ identity, told }) => outcomeBlock(identity, told)));
      return { kind: "continue" as const, text, delegations };
    });
    settling = round.catch(() => {});
    return round;
  };

  const cancel = async () => {
    const delegations = inFlight.ids();
    trace({ event: "task_canceled", task_id: taskId, delegations });
    await inFlight.endAll(CANCELED);
    return { delegations };
  };

  return {
    inFlight: inFlight.ids,
    call: (given, signal) => call(options, inFlight, given, signal),
    step: (asked) => step(options, inFlight, asked),
    async settle(end, emit, alongside) {
      const reason = whyNotToldOf(end);
      if (reason === undefined) return nextRound(createStatuses(emit, alongside, session.diagnose));
      await inFlight.endAll(reason);
      return DONE;
    },
    cancel() {
      canceling ??= cancel();
      return canceling;
    },
  };
}

const DONE: Settlement = { kind: "done" };
const CANCELED = "the delegating task was cancelled";

/** Why a task that ended this way is told no outcomes; `undefined` if it is told them. */
function whyNotToldOf(end: AttemptEnd): string | undefined {
  if (end.kind === "ended") {
    return `the delegating task ended ${end.exitStatus} before this sub-capsule finished`;
  }
  return end.turnsLeft < 1
    ? "the delegating task had no inference turn left to read this outcome"
    : undefined;
}

async function call(
  task: TaskDelegationsOptions,
  inFlight: InFlight,
  given: unknown,
  signal: AbortSignal | undefined,
): Promise<DelegateTaskResult> {
  const { session } = task;
  const asked = readArguments(session.delegateTask, given);
  if (!asked.ok) {
    traceUnreadable(session, given, asked.fault);
    return refused(asked.fault);
  }
  const { over, underWay } = inFlight;
  const either = signal ? AbortSignal.any([over, signal]) : over;
  return underWay.run((onStarted) => delegate(task, inFlight, asked.value, { signal: either, onStarted }));
}

/**
 * Launches a child, hands it its task, then watches it.
 *
 * @param signal gives up the call, but not a delegation that it already started
 */
async function delegate(
  { session, contextId, door, doorUrl, launch = launchChild, deliver = deliverTask }: TaskDelegationsOptions,
  inFlight: InFlight,
  asked: DelegationRequest,
  { signal, onStarted }: Required<Pick<LaunchRequest, "signal" | "onStarted">>,
): Promise<DelegateTaskResult> {
  const { name, version } = asked;
  const since = session.clock.elapsed();
  const watchSecs = delegationTimeoutSecs(session.environment, session.manifest.delegationDeadlineSecs);
  const fail = (why: string, { delegationId = "", sessionId = "" }: StartedIds = {}) => {
    traceClose(session, { name, version, delegationId, sessionId }, since, "failed", why);
    return failed(asked, why, { delegationId, sessionId });
  };
  if (inFlight.over.aborted) return fail("the delegating task has ended");
  let outcome: LaunchOutcome;
  let known: StartedIds = {};
  try {
    outcome = await launch(session, {
      name,
      version,
      contextId,
      completionDoor: doorUrl,
      signal,
      onStarted(delegationId) {
        known = { delegationId };
        onStarted(delegationId);
      },
      onReported(child) {
        known = child;
        traceStart(session, child);
      },
    });
  } catch (error) {
    const why = `could not launch ${coordinateText(asked)}: ${messageOf(error)}`;
    session.diagnose(`warning: launch failed: ${messageOf(error)}`);
    return fail(why, known);
  }
  if (outcome.kind === "refused") {
    traceClose(session, asked, since, "refused", outcome.sentence);
    return refused(outcome.sentence);
  }
  if (outcome.kind === "failed") {
    return fail(failureText(name, outcome.failure), outcome.failure.started);
  }
  const { child } = outcome;
  onStarted(child.delegationId);
  const delegation = { session, door, child, watchSecs, since };
  const handing = async () => {
    // Do this before the child gets its task: after that, it could report that it is done.
    const arrivals = awaitCompletions(door, child.delegationId);
    const taken = await handOver(delegation, asked.task, deliver, signal);
    if (taken.ok) inFlight.add(watchDelegation(delegation, arrivals));
    return taken;
  };
  const taken = await handing().catch((error) => fault<NotTaken>({ why: messageOf(error) }));
  if (taken.ok) return started(child);
  // A program in JavaScript may have left the door out. That must not leave a child that nobody watches.
  await abandon(delegation, taken.fault).catch((error) => session.diagnose(`warning: ${messageOf(error)}`));
  return fail(`${bareName(name)}@${version} did not take its task: ${taken.fault.why}`, child);
}

/** If the task is cancelled, the step returns before its child is reaped, but stays in flight until then. */
function step(
  { session, contextId }: TaskDelegationsOptions,
  { underWay, over }: InFlight,
  asked: Parameters<TaskDelegations["step"]>[0],
): Promise<StepOutcome> {
  return new Promise((resolve) => {
    void underWay.run((onStarted) => {
      const running = startCapsuleStep(session, { ...asked, contextId, signal: over, onStarted });
      resolve(running.returned);
      return running.over;
    });
  });
}
