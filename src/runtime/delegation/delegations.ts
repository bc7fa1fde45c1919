/** A task's delegations: what it started, what it waits for, and what becomes of them when it ends. */

import { bareName } from "../../registry/artifact-name.ts";
import type { DoorUrl } from "../addresses.ts";
import { delegationTimeoutSecs } from "../contract/environment.ts";
import { launch as launchChild } from "../launch/launch.ts";
import type { LaunchedChild, LaunchOutcome, LaunchRequest } from "../launch/outcome.ts";
import { fault, type Result } from "../result.ts";
import { type DelegationRequest, readArguments } from "../session/delegate-task.ts";
import type { DelegatingSession, RegisteredSession } from "../session/session.ts";
import { deliverTask } from "./delivery.ts";
import type { CompletionDoor } from "./door.ts";
import { joinBlocks, outcomeBlock } from "./outcome-block.ts";
import { createTrace, type DelegationOutcome, type Trace } from "./trace.ts";
import { cutText } from "./utf8.ts";
import {
  abandon,
  awaitCompletion,
  type ClosedDelegation,
  howItEnded,
  type WatchedDelegation,
  type Watching,
  watchDelegation,
} from "./watch.ts";

/** The longest `output` of a call, in bytes. */
const MAX_OUTPUT_BYTES = 64 * 1024;

/** What a call of `delegate-task` gives the model: a refusal is a bare sentence, anything else one JSON object. */
export interface DelegateTaskResult {
  readonly kind: "started" | "refused" | "failed";
  readonly text: string;
}

/** How one attempt of a task ended. */
export type AttemptEnd =
  /** The model ended its turn; `turnsLeft` of `inference.max_turns`. */
  | { readonly kind: "finished"; readonly turnsLeft: number }
  /** Any other way, by the word of its exit status. */
  | { readonly kind: "ended"; readonly exitStatus: string };

export type Settlement =
  /** The task goes on in the same conversation with this text. */
  | { readonly kind: "continue"; readonly text: string; readonly delegations: readonly string[] }
  /** Nothing is outstanding and nothing is left to say. */
  | { readonly kind: "done" };

/** Something else that the task waits for at the same time: its `call-member` calls. */
export interface AlongsideWait {
  /** Its status text while something is outstanding. */
  waiting(): string | undefined;
  /** Its status text once nothing is, where there is an outcome to go on with. */
  continuing(): string | undefined;
  /** Settles once nothing is outstanding. */
  readonly done: Promise<void>;
}

export interface TaskDelegations {
  /** One call of the tool. The signal gives the call up, not a delegation that it has started. */
  call(given: unknown, signal?: AbortSignal): Promise<DelegateTaskResult>;
  /** The ids of what is in flight, in launch order. */
  inFlight(): string[];
  /**
   * After an attempt: waits for the round and gives its outcomes once, or ends what the task leaves behind.
   * `emit` says a `TASK_STATE_WORKING` status.
   */
  settle(end: AttemptEnd, emit: (status: string) => void, alongside?: AlongsideWait): Promise<Settlement>;
  /**
   * The task was cancelled: whatever it is doing stops, and every child is ended and reaped.
   *
   * @returns what was in flight before, for the residue of `CancelTask`
   */
  cancel(): Promise<{ readonly delegations: readonly string[] }>;
}

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
  const launching = new Set<Promise<unknown>>();
  const starting = new Set<string>();
  const watched = new Map<string, WatchedDelegation>();
  const over = new AbortController();
  /** Closed, and not yet told to the model. */
  let round: ClosedDelegation[] = [];
  let onClosed: (outstanding: number) => void = () => {};

  const inFlight = () => [...starting, ...watched.keys()].sort();

  const watch = (watching: Watching, arrival: ReturnType<typeof awaitCompletion>, since: number) => {
    const delegation = watchDelegation(watching, arrival);
    const { delegationId } = watching.identity;
    watched.set(delegationId, delegation);
    // Its task ended while the child was taking the task on.
    if (over.signal.aborted) delegation.end(String(over.signal.reason));
    void delegation.closed.then((closed) => {
      traceClose(trace, session, closed.identity, since, closed.outcome, closed.reason);
      watched.delete(delegationId);
      round.push(closed);
      onClosed(watched.size);
    });
  };

  const start = async (asked: DelegationRequest, signal: AbortSignal): Promise<DelegateTaskResult> => {
    const since = session.clock.elapsed();
    const outcome = await (options.launch ?? launchChild)(session, {
      name: asked.name,
      version: asked.version,
      contextId: options.contextId,
      completionDoor: options.doorUrl,
      signal,
    });
    if (outcome.kind === "refused") {
      traceClose(trace, session, asked, since, "refused", outcome.sentence);
      return { kind: "refused", text: outcome.sentence };
    }
    if (outcome.kind === "failed") {
      const { message, started } = outcome.failure;
      const delegationId = started?.delegationId ?? "";
      traceClose(trace, session, { ...asked, delegationId }, since, "failed", message);
      return failed(asked, delegationId, "", message);
    }
    const { child } = outcome;
    // Before the child can hold its task, and so before it can say that it is done.
    const arrival = awaitCompletion(door, child.delegationId);
    starting.add(child.delegationId);
    const identity = { ...child, workdir: child.workdir.path };
    const watchSecs = delegationTimeoutSecs(session.environment, session.manifest.delegationDeadlineSecs);
    const watching: Watching = { session, door, child, identity, watchSecs };
    traceStart(trace, child);
    const held = await handOver(options, child, asked.task, signal);
    if (!held.ok) {
      const message = `${bareName(asked.name)}@${asked.version} did not take its task: ${held.fault}`;
      await abandon(watching);
      starting.delete(child.delegationId);
      traceClose(trace, session, identity, since, "failed", message);
      return failed(asked, child.delegationId, child.sessionId, message);
    }
    starting.delete(child.delegationId);
    watch(watching, arrival, since);
    return started(asked, child);
  };

  const endAll = async (reason: string): Promise<void> => {
    over.abort(reason);
    for (const delegation of watched.values()) delegation.end(reason);
    await Promise.all(launching);
    await Promise.all([...watched.values()].map(({ closed }) => closed));
    round = [];
  };

  return {
    inFlight,
    async call(given, signal) {
      const asked = readArguments(session.delegateTask, given);
      if (!asked.ok) return { kind: "refused", text: asked.fault };
      if (over.signal.aborted) return failed(asked.value, "", "", "the delegating task has ended");
      const calling = start(asked.value, signal ? AbortSignal.any([over.signal, signal]) : over.signal);
      const settled = calling.then(
        () => {},
        () => {},
      );
      launching.add(settled);
      void settled.then(() => launching.delete(settled));
      return calling;
    },
    async settle(end, emit, alongside) {
      if (end.kind === "ended" || end.turnsLeft < 1) {
        const left = `the delegating task ended ${end.kind === "ended" ? end.exitStatus : ""} before this sub-capsule finished`;
        await endAll(end.kind === "ended" ? left : NO_TURN_LEFT);
        return { kind: "done" };
      }
      await Promise.all(launching);
      await waitForRound();
      // Cancelled meanwhile: there is nobody left to tell.
      if (over.signal.aborted) return { kind: "done" };
      const told = round.sort((one, other) =>
        one.identity.delegationId < other.identity.delegationId ? -1 : 1,
      );
      round = [];
      const status = joinStatus(
        told.length > 0 ? continuing(told.length) : undefined,
        alongside?.continuing(),
      );
      if (status === undefined) return { kind: "done" };
      emit(status);
      const delegations = told.map(({ identity }) => identity.delegationId);
      trace({ event: "task_continued", task_id: taskId, delegations });
      return {
        kind: "continue",
        text: joinBlocks(told.map((one) => outcomeBlock(one.identity, one.ended))),
        delegations,
      };

      async function waitForRound(): Promise<void> {
        const say = (outstanding: number) => {
          const status = joinStatus(outstanding > 0 ? waiting(outstanding) : undefined, alongside?.waiting());
          if (status !== undefined && !over.signal.aborted) emit(status);
        };
        say(watched.size);
        const { promise: none, resolve } = Promise.withResolvers<void>();
        onClosed = (outstanding) => {
          if (outstanding === 0) resolve();
          else say(outstanding);
        };
        if (watched.size === 0) resolve();
        const canceled = new Promise<void>((stop) => over.signal.addEventListener("abort", () => stop()));
        await Promise.race([Promise.all([none, alongside?.done]), canceled]);
        onClosed = () => {};
      }
    },
    async cancel() {
      const delegations = inFlight();
      trace({ event: "task_canceled", task_id: taskId, delegations });
      await endAll(CANCELED);
      return { delegations };
    },
  };
}

/** The child's door, tried until it listens; a child that ends meanwhile is not waited for. */
async function handOver(
  { session, deliver = deliverTask }: TaskDelegationsOptions,
  child: LaunchedChild,
  task: string,
  signal: AbortSignal,
): Promise<Result<string, string>> {
  if (!child.door) return fault("it bound no address");
  const gone = new AbortController();
  const { door, operatorToken: token, delegationId } = child;
  const delivering = deliver(
    { door, token, delegationId, task, signal: AbortSignal.any([signal, gone.signal]) },
    session.clock,
  );
  const ended = child.exited.then(() => "ended" as const);
  const first = await Promise.race([delivering, ended]);
  if (first !== "ended") return first;
  // It may have ended because it was done: what its door answered still counts.
  gone.abort();
  const last = await delivering;
  return last.ok || signal.aborted ? last : fault(`it ended before, ${await howItEnded(child)}`);
}

function started(asked: DelegationRequest, child: LaunchedChild): DelegateTaskResult {
  const text = JSON.stringify({
    delegation_id: child.delegationId,
    session_id: child.sessionId,
    capsule: bareName(asked.name),
    version: asked.version,
    status: "started",
    child_workdir: child.workdir.path,
  });
  return { kind: "started", text };
}

function failed(
  asked: DelegationRequest,
  delegationId: string,
  sessionId: string,
  why: string,
): DelegateTaskResult {
  const text = JSON.stringify({
    delegation_id: delegationId,
    session_id: sessionId,
    capsule: bareName(asked.name),
    version: asked.version,
    status: "failed",
    output: cutText(why, MAX_OUTPUT_BYTES - 8),
  });
  return { kind: "failed", text };
}

/** `waiting on delegate-task: 2 delegation(s) outstanding` */
export function waiting(outstanding: number): string {
  return `waiting on delegate-task: ${outstanding} delegation(s) outstanding`;
}

export function continuing(outcomes: number): string {
  return `continuing with ${outcomes} delegation outcome(s)`;
}

function joinStatus(...texts: readonly (string | undefined)[]): string | undefined {
  const said = texts.filter((text) => text !== undefined);
  return said.length === 0 ? undefined : said.join("; ");
}

function traceStart(trace: Trace, child: LaunchedChild): void {
  trace({
    event: "delegation_start",
    delegation_id: child.delegationId,
    capsule: bareName(child.name),
    version: child.version,
    child_session_id: child.sessionId,
    child_workdir: child.workdir.path,
    ...(child.copy && { workdir_snapshot: child.copy }),
  });
}

function traceClose(
  trace: Trace,
  { clock }: RegisteredSession,
  asked: Pick<DelegationRequest, "name" | "version"> & {
    readonly delegationId?: string;
    readonly sessionId?: string;
  },
  since: number,
  outcome: DelegationOutcome,
  reason: string | null,
): void {
  trace({
    event: "delegation",
    capsule: bareName(asked.name),
    version: asked.version,
    delegation_id: asked.delegationId || null,
    child_session_id: asked.sessionId || null,
    duration_ms: Math.round(clock.elapsed() - since),
    outcome,
    reason,
  });
}
