/** A session's `trace.jsonl`: one JSON object per line, each appended in one piece. */

import { printable } from "../../printable.ts";
import { bareName, type Coordinates } from "../../registry/artifact-name.ts";
import type { RunArguments } from "../contract/arguments.ts";
import type { ReportedChild } from "../launch/outcome.ts";
import { redactSaid } from "../redaction.ts";
import { appendLine } from "../tree/files.ts";
import type { HeldDirectory } from "../tree/held.ts";
import { objectIn, stringIn } from "../wire.ts";
import type { Report } from "./completion.ts";
import type { DelegateTask } from "./delegate-task.ts";
import { cutText } from "./untrusted.ts";

/** `refused` and `failed` come from the call itself, the others from its task or a plan's step at the close. */
type DelegationOutcome =
  | ("refused" | "failed")
  | (Report["status"] | "unknown")
  | ("completed" | "timed_out" | "canceled");

/** Whether a session was ended in the middle of its task. */
export type SessionExitStatus = "ok" | "canceled";

/** One line of a session's `trace.jsonl`, without the field that every line has. */
export type TraceEvent =
  | {
      readonly event: "session_start";
      readonly capsule: string;
      readonly version: string;
      readonly tools_declared: readonly string[];
      /** `parent_workdir`: describes the copy that the work folder started with, if the parent made one. */
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
      /** Describes the copy that the work folder started with, if one was made. */
      readonly workdir_snapshot?: object;
    }
  | {
      readonly event: "delegation";
      readonly capsule: string;
      readonly version: string;
      /** `null` if nothing was launched. */
      readonly delegation_id: string | null;
      readonly child_session_id: string | null;
      /** The time from the call to the close. */
      readonly duration_ms: number;
      readonly outcome: DelegationOutcome;
      readonly reason: string | null;
    }
  | { readonly event: "task_continued"; readonly task_id: string; readonly delegations: readonly string[] }
  | { readonly event: "task_canceled"; readonly task_id: string; readonly delegations: readonly string[] }
  | { readonly event: "spawner_ended" };

/** Appends one event and adds `at_ms`, in unix milliseconds, to its line. Never throws. */
export type Trace = (event: TraceEvent) => void;

/** What a trace needs from its session. */
export interface TracedSession {
  readonly id: string;
  readonly directories: { readonly records: Pick<HeldDirectory, "descriptor"> };
  readonly clock: { now(): number };
  readonly diagnose: (line: string) => void;
}

/** The records directories whose last line could not be written. */
const losing = new WeakSet<object>();
/** Those whose session has ended. */
const ended = new WeakSet<object>();

/**
 * The trace of a session. If lines cannot be appended, the operator is told once that they are lost.
 *
 * No line shows one of the daemon's tokens. Invisible characters are escaped.
 */
export function createTrace(session: TracedSession): Trace {
  const { records } = session.directories;
  return ({ event, ...fields }) => {
    if (event === "session_end") ended.add(records);
    // A spawner that ends while its finished child says goodbye has not cut it short.
    if (event === "spawner_ended" && ended.has(records)) return;
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

/** What the first line of a session's trace contains. */
export interface StartedSession extends TracedSession {
  readonly run: Pick<RunArguments, "name" | "version" | "parentWorkdir">;
  readonly delegateTask: Pick<DelegateTask, "definition"> | undefined;
}

/**
 * Traces that a session has begun. Call it before the readiness line. It leaves out `parent_workdir.restriction`, which
 * says how a tier keeps the session out of its parent's folder: only a runtime with tiers can tell.
 *
 * @param tools the names of the tools that its model is shown; `delegate-task` is added if the session has it
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
 * Traces that a session has ended and its process exits by itself. Call it last, before `closeSession` closes its
 * directories. A session that is cut short or killed leaves no such line (API page, "A child ends with its parent").
 *
 * @param exitStatus `canceled` if the session or its task was ended in the middle of that task; otherwise `ok`
 */
export function traceSessionEnd(session: TracedSession, exitStatus: SessionExitStatus): void {
  createTrace(session)({ event: "session_end", exit_status: exitStatus });
}

/** Traces that a child reported its session, so its delegation has begun. */
export function traceStart(session: TracedSession, child: ReportedChild): void {
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

/** Traces the end of a delegation or a failed call. `since`: when it was called, on the session's clock (`elapsed`). */
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

/** The most that is kept of a name from a model, in bytes. */
const MAX_NAMED_BYTES = 256;

/** Traces a call whose arguments could not be read, so nothing started. Names are written as the model gave them. */
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
