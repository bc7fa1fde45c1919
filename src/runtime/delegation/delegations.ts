/** A task's delegations: what it started, what it waits for, and what becomes of them when it ends. */

import type { Coordinates } from "../../registry/artifact-name.ts";
import { type StepOutcome, startCapsuleStep } from "./capsule-step.ts";
import { readArguments } from "./delegate-task.ts";
import type { TaskDelegationsOptions } from "./delegating-task.ts";
import { createInFlight, type InFlight } from "./in-flight.ts";
import { joinBlocks, outcomeBlock } from "./outcome-block.ts";
import { settleRound } from "./round.ts";
import { startDelegation } from "./start-delegation.ts";
import { type AlongsideWait, createStatuses, type Emit, type Statuses } from "./statuses.ts";
import { type DelegateTaskResult, failed, refused } from "./tool-result.ts";
import { createTrace, traceClose, traceUnreadable } from "./trace.ts";

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
  const { over } = inFlight;
  if (over.aborted) {
    const why = "the delegating task has ended";
    traceClose(session, asked.value, session.clock.elapsed(), "failed", why);
    return failed(asked.value, why);
  }
  return startDelegation(task, inFlight, asked.value, signal ? AbortSignal.any([over, signal]) : over);
}

/** If the task is cancelled, the step returns before its child is reaped, but stays in flight until then. */
function step(
  { session, contextId }: TaskDelegationsOptions,
  { underWay, over }: InFlight,
  asked: Coordinates & { readonly task: string },
): Promise<StepOutcome> {
  return new Promise((resolve) => {
    void underWay.run((onStarted) => {
      const running = startCapsuleStep(session, { ...asked, contextId, signal: over, onStarted });
      resolve(running.returned);
      return running.over;
    });
  });
}
