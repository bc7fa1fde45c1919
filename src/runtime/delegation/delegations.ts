/** A task's delegations: what it started, what it waits for, and what becomes of them when it ends. */

import { bareName, type Coordinates } from "../../registry/artifact-name.ts";
import type { DoorUrl } from "../addresses.ts";
import { delegationTimeoutSecs } from "../contract/environment.ts";
import { launch as launchChild } from "../launch/launch.ts";
import type { LaunchOutcome, LaunchRequest } from "../launch/outcome.ts";
import { fault } from "../result.ts";
import { type DelegationRequest, readArguments } from "../session/delegate-task.ts";
import type { DelegatingSession, RegisteredSession } from "../session/session.ts";
import { type Arrival, awaitCompletion } from "./arrival.ts";
import { type StepOutcome, startCapsuleStep } from "./capsule-step.ts";
import type { ClosedDelegation } from "./closing.ts";
import { deliverTask } from "./delivery.ts";
import type { CompletionDoor } from "./door.ts";
import { abandon } from "./ended-child.ts";
import { handOver } from "./hand-over.ts";
import { identityOf } from "./identity.ts";
import { joinBlocks, outcomeBlock } from "./outcome-block.ts";
import { failureText } from "./quoted.ts";
import { type AlongsideWait, createStatuses, type Emit, type Statuses } from "./statuses.ts";
import { type DelegateTaskResult, failed, refused, started } from "./tool-result.ts";
import { createTrace, traceClose, traceStart, traceUnreadable } from "./trace.ts";
import { createUnderWay } from "./under-way.ts";
import { type WatchedDelegation, watchDelegation } from "./watch.ts";
import type { Watching } from "./watched-child.ts";

/** How one attempt of a task ended. */
export type AttemptEnd =
  /** The model ended its turn; `turnsLeft` of `inference.max_turns`. */
  | { readonly kind: "finished"; readonly turnsLeft: number }
  /** Any other way, by the word of its exit status. */
  | { readonly kind: "ended"; readonly exitStatus: string };

/** What a task does after an attempt: go on, or end. */
export type Settlement =
  /** The task goes on in the same conversation with this text. */
  | { readonly kind: "continue"; readonly text: string; readonly delegations: readonly string[] }
  /** Nothing is outstanding and nothing is left to say. */
  | { readonly kind: "done" };

/** The delegations of one task. */
export interface TaskDelegations {
  /** One call of the tool. The signal gives the call up, not a delegation that it has started. */
  call(given: unknown, signal?: AbortSignal): Promise<DelegateTaskResult>;
  /** A plan's `capsule` step of this task: in flight until it returns, and cancelled with the task. */
  step(step: Coordinates & { readonly task: string }): Promise<StepOutcome>;
  /** The ids of what is in flight, in launch order. */
  inFlight(): string[];
  /**
   * After an attempt: waits for the round and gives its outcomes once, or ends what the task leaves behind. Of two
   * that wait, the second finds what the first has left.
   */
  settle(end: AttemptEnd, emit: Emit, alongside?: AlongsideWait): Promise<Settlement>;
  /**
   * The task was cancelled: whatever it is doing stops, and every child is ended and reaped. Cancelled once more, it is
   * the same cancel.
   *
   * @returns what was in flight before, for the residue of `CancelTask`
   */
  cancel(): Promise<{ readonly delegations: readonly string[] }>;
}

/** Whose delegations they are, and where their completions arrive. */
export interface TaskDelegationsOptions {
  readonly session: DelegatingSession;
  /** The session's own, which its A2A door mounts (`completionPlugin`). */
  readonly door: CompletionDoor;
  /** Where that door listens. */
  readonly doorUrl: DoorUrl;
  readonly taskId: string;
  readonly contextId: string;
  /** Starts a child and hands it its task; what is left out is the real one. */
  readonly launch?: (session: RegisteredSession, asked: LaunchRequest) => Promise<LaunchOutcome>;
  readonly deliver?: typeof deliverTask;
}

const CANCELED = "the delegating task was cancelled";
const NO_TURN_LEFT = "the delegating task had no inference turn left to read this outcome";

/** The delegations of one task. */
export function createTaskDelegations(options: TaskDelegationsOptions): TaskDelegations {
  const { session, door, taskId } = options;
  const trace = createTrace(session);
  const underWay = createUnderWay();
  const watched = new Map<string, WatchedDelegation>();
  const over = new AbortController();
  const ended = new Promise<void>((resolve) =>
    over.signal.addEventListener("abort", () => resolve(), { once: true }),
  );
  /** Closed, and not yet told to the model. */
  let round: ClosedDelegation[] = [];
  let onClosed: (outstanding: number) => void = () => {};
  let settling: Promise<unknown> = Promise.resolve();
  let canceling: ReturnType<TaskDelegations["cancel"]> | undefined;

  const inFlight = () => [...new Set([...underWay.ids(), ...watched.keys()])].sort();

  const watch = (watching: Watching, arrival: Arrival, since: number) => {
    const delegation = watchDelegation(watching, arrival);
    const { delegationId } = watching.identity;
    watched.set(delegationId, delegation);
    // Its task ended while the child was taking the task on.
    if (over.signal.aborted) delegation.end(String(over.signal.reason));
    void delegation.closed.then((closed) => {
      traceClose(session, closed.identity, since, closed.outcome, closed.reason);
      watched.delete(delegationId);
      round.push(closed);
      onClosed(watched.size);
    });
  };

  const start = (asked: DelegationRequest, signal: AbortSignal): Promise<DelegateTaskResult> => {
    const since = session.clock.elapsed();
    return underWay.run(async (onStarted) => {
      const { name, version } = asked;
      const { contextId, doorUrl: completionDoor, launch = launchChild } = options;
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
      const { child } = outcome;
      onStarted(child.delegationId);
      // Before the child can hold its task, and so before it can say that it is done.
      const arrival = awaitCompletion(door, child.delegationId);
      const identity = identityOf(child);
      const watchSecs = delegationTimeoutSecs(session.environment, session.manifest.delegationDeadlineSecs);
      const watching: Watching = { session, door, child, identity, watchSecs };
      traceStart(session, child);
      const held = await handOver(watching, asked.task, options.deliver ?? deliverTask, signal).catch(
        (error) => fault(error instanceof Error ? error.message : String(error)),
      );
      if (!held.ok) {
        const message = `${bareName(name)}@${version} did not take its task: ${held.fault}`;
        await abandon(watching);
        traceClose(session, identity, since, "failed", message);
        return failed(asked, message, child);
      }
      watch(watching, arrival, since);
      return started(child);
    });
  };

  /** Every child has been ended and reaped, and everything that was being launched has settled. */
  const allEnded = async (): Promise<void> => {
    while (underWay.any() || watched.size > 0) {
      await underWay.settled();
      await Promise.all([...watched.values()].map(({ closed }) => closed));
    }
  };

  const endAll = async (reason: string): Promise<void> => {
    over.abort(reason);
    for (const delegation of watched.values()) delegation.end(reason);
    await allEnded();
    round = [];
  };

  const settleRound = async (statuses: Statuses): Promise<Settlement> => {
    await Promise.race([underWay.settled(), ended]);
    if (!over.signal.aborted) await Promise.race([waitForRound(statuses), ended]);
    onClosed = () => {};
    if (over.signal.aborted) {
      // There is nobody left to tell; but a task that goes on from here has no child any more.
      await allEnded();
      return { kind: "done" };
    }
    const told = round.sort((one, other) =>
      one.identity.delegationId < other.identity.delegationId ? -1 : 1,
    );
    round = [];
    if (!statuses.continuing(told.length)) return { kind: "done" };
    const delegations = told.map(({ identity }) => identity.delegationId);
    trace({ event: "task_continued", task_id: taskId, delegations });
    const text = joinBlocks(told.map((one) => outcomeBlock(one.identity, one.ended)));
    return { kind: "continue", text, delegations };
  };

  const waitForRound = async (statuses: Statuses): Promise<void> => {
    const { promise: none, resolve } = Promise.withResolvers<void>();
    onClosed = (outstanding) => {
      if (outstanding === 0) resolve();
      else if (!over.signal.aborted) statuses.waiting(outstanding);
    };
    statuses.waiting(watched.size);
    if (watched.size === 0) resolve();
    await Promise.all([none, statuses.alongside]);
  };

  return {
    inFlight,
    async call(given, signal) {
      const asked = readArguments(session.delegateTask, given);
      if (!asked.ok) {
        traceUnreadable(session, given, asked.fault);
        return refused(asked.fault);
      }
      if (over.signal.aborted) {
        const why = "the delegating task has ended";
        traceClose(session, asked.value, session.clock.elapsed(), "failed", why);
        return failed(asked.value, why);
      }
      return start(asked.value, signal ? AbortSignal.any([over.signal, signal]) : over.signal);
    },
    step(asked) {
      const { contextId } = options;
      return new Promise((resolve) => {
        void underWay.run((onStarted) => {
          const step = { ...asked, contextId, signal: over.signal, onStarted };
          const { returned, over: ended } = startCapsuleStep(session, step);
          resolve(returned);
          return ended;
        });
      });
    },
    async settle(end, emit, alongside) {
      if (end.kind === "ended") {
        await endAll(`the delegating task ended ${end.exitStatus} before this sub-capsule finished`);
        return { kind: "done" };
      }
      if (end.turnsLeft < 1) {
        await endAll(NO_TURN_LEFT);
        return { kind: "done" };
      }
      const statuses = createStatuses(emit, alongside, session.diagnose);
      const mine = settling.then(() => settleRound(statuses));
      settling = mine.catch(() => {});
      return mine;
    },
    cancel() {
      canceling ??= (async () => {
        const delegations = inFlight();
        trace({ event: "task_canceled", task_id: taskId, delegations });
        await endAll(CANCELED);
        return { delegations };
      })();
      return canceling;
    },
  };
}
