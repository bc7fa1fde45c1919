/** A session's `trace.jsonl`: one JSON object a line, each appended whole. */

import { printable } from "../../printable.ts";
import { bareName, type Coordinates } from "../../registry/artifact-name.ts";
import type { RunArguments } from "../contract/arguments.ts";
import { objectIn, stringIn } from "../json.ts";
import type { LaunchedChild } from "../launch/outcome.ts";
import { redactSaid } from "../redaction.ts";
import { appendLine } from "../tree/appended-file.ts";
import type { HeldDirectory } from "../tree/held.ts";
import type { DelegateTask } from "./delegate-task.ts";
import { cutText } from "./utf8.ts";

/** `refused` and `failed` close a delegation in its call; the others when its task closes it, or a plan's step. */
export type DelegationOutcome =
  | "refused"
  | "failed"
  | "ok"
  | "error"
  | "crashed"
  | "terminated"
  | "unknown"
  | "completed"
  | "timed_out"
  | "canceled";

/** How a session ended: in the middle of its task, or not. */
export type SessionExitStatus = "ok" | "canceled";

/** One line of a session's `trace.jsonl`, without what every line has. */
export type TraceEvent =
  | {
      readonly event: "session_start";
      readonly capsule: string;
      readonly version: string;
      readonly tools_declared: readonly string[];
      /** `parent_workdir`: the account of the copy that the work folder started with, where its parent made one. */
      readonly effective_grants: { readonly parent_workdir?: object };
    }
  | { readonly event: "session_end"; readonly exit_status: SessionExitStatus }
  | {
      readonly event: "delegation_start";
      readonly delegation_id: string;
      readonly capsule: string;
      readonly version: string;
      readonly child_session_id: string;
      readonly child_workdir: string;
      /** The account of the copy that the work folder started with, where one was made. */
      readonly workdir_snapshot?: object;
    }
  | {
      readonly event: "delegation";
      readonly capsule: string;
      readonly version: string;
      /** `null` where nothing was launched. */
      readonly delegation_id: string | null;
      readonly child_session_id: string | null;
      /** From the call to its close. */
      readonly duration_ms: number;
      readonly outcome: DelegationOutcome;
      readonly reason: string | null;
    }
  | { readonly event: "task_continued"; readonly task_id: string; readonly delegations: readonly string[] }
  | { readonly event: "task_canceled"; readonly task_id: string; readonly delegations: readonly string[] }
  | { readonly event: "spawner_ended" };

/** Appends one event; every line has `at_ms`, in unix milliseconds. Never throws. */
export type Trace = (event: TraceEvent) => void;

/** What a trace needs of its session. */
export interface TracedSession {
  readonly id: string;
  readonly directories: { readonly records: Pick<HeldDirectory, "descriptor"> };
  readonly clock: { now(): number };
  readonly diagnose: (line: string) => void;
}

/** The records directories whose last line was lost. */
const losing = new WeakSet<object>();

/**
 * The trace of a session. Where lines cannot be appended, one line tells the operator that they are lost.
 *
 * No line shows a token of the daemon's, and none holds a character that cannot be seen: such are escaped.
 */
export function createTrace(session: TracedSession): Trace {
  const { records } = session.directories;
  return ({ event, ...fields }) => {
    const line = { event, at_ms: Math.floor(session.clock.now()), session_id: session.id, ...fields };
    const text = JSON.stringify(line, (_, value) =>
      typeof value === "string" ? redactSaid(value, []) : value,
    );
    const appended = appendLine(records.descriptor, "trace.jsonl", Buffer.from(`${printable(text)}\n`));
    if (!appended.ok && !losing.has(records)) {
      session.diagnose(`trace.jsonl could not be appended to, its lines are lost: ${appended.fault}`);
    }
    if (appended.ok) losing.delete(records);
    else losing.add(records);
  };
}

/** What the first line of a session's trace is made of. */
export interface StartedSession extends TracedSession {
  readonly run: Pick<RunArguments, "name" | "version" | "parentWorkdir">;
  readonly delegateTask: Pick<DelegateTask, "definition"> | undefined;
}

/**
 * A session has begun: call it before the readiness line. How its tier keeps it off its parent's folder
 * (`parent_workdir.restriction`) is for a runtime to say that has tiers.
 *
 * @param tools the names of the tools that its model is shown; `delegate-task` is added where the session has it
 */
export function traceSessionStart(session: StartedSession, tools: readonly string[] = []): void {
  const { run, delegateTask } = session;
  createTrace(session)({
    event: "session_start",
    capsule: bareName(run.name),
    version: run.version,
    tools_declared: delegateTask ? [...tools, delegateTask.definition.name] : tools,
    effective_grants: run.parentWorkdir ? { parent_workdir: run.parentWorkdir } : {},
  });
}

/**
 * A session has ended, and its process exits by itself: call it last, before `closeSession` lets its directories go. One
 * that is cut short or killed leaves no such line (API page, "A child ends with its parent").
 *
 * @param exitStatus `canceled` where it was ended, or its task was, in the middle of that task; `ok` else
 */
export function traceSessionEnd(session: TracedSession, exitStatus: SessionExitStatus): void {
  createTrace(session)({ event: "session_end", exit_status: exitStatus });
}

/** A child is ready: its delegation has begun. */
export function traceStart(session: TracedSession, child: LaunchedChild): void {
  createTrace(session)({
    event: "delegation_start",
    delegation_id: child.delegationId,
    capsule: bareName(child.name),
    version: child.version,
    child_session_id: child.sessionId,
    child_workdir: child.workdir.path,
    ...(child.copy && { workdir_snapshot: child.copy }),
  });
}

/** A delegation, or a call that led to none, is over; `since` is when it was called, on the session's clock (`elapsed`). */
export function traceClose(
  session: TracedSession & { readonly clock: { elapsed(): number } },
  asked: Coordinates & { readonly delegationId?: string; readonly sessionId?: string },
  since: number,
  outcome: DelegationOutcome,
  reason: string | null,
): void {
  createTrace(session)({
    event: "delegation",
    capsule: bareName(asked.name),
    version: asked.version,
    delegation_id: asked.delegationId || null,
    child_session_id: asked.sessionId || null,
    duration_ms: Math.round(session.clock.elapsed() - since),
    outcome,
    reason,
  });
}

/** The longest that is kept of a name that a model gave, in bytes. */
const MAX_NAMED_BYTES = 256;

/** A call that led to no delegation, because its arguments could not be read. What they name is written as it was given. */
export function traceUnreadable(session: TracedSession, given: unknown, why: string): void {
  const fields = objectIn(given);
  const named = (value: unknown) => cutText(stringIn(value) ?? "", MAX_NAMED_BYTES);
  createTrace(session)({
    event: "delegation",
    capsule: named(fields?.capsule),
    version: named(fields?.version),
    delegation_id: null,
    child_session_id: null,
    duration_ms: 0,
    outcome: "refused",
    reason: why,
  });
}
