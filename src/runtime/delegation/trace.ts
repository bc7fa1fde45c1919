/** A session's `trace.jsonl`: one JSON object a line, each appended whole. */

import { closeSync, constants, fstatSync, openSync, writeSync } from "node:fs";
import { join } from "node:path";
import { describeOsError } from "../../os-error.ts";
import { bareName, type Coordinates } from "../../registry/artifact-name.ts";
import { objectIn, stringIn } from "../json.ts";
import type { LaunchedChild } from "../launch/outcome.ts";
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

/** One line of a session's `trace.jsonl`, without what every line has. */
export type TraceEvent =
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

/** Appends one event; `at_ms`, unix milliseconds, stands on every line. Never throws. */
export type Trace = (event: TraceEvent) => void;

/** What a trace needs of its session. */
export interface TracedSession {
  readonly id: string;
  readonly directories: { readonly records: { readonly path: string } };
  readonly clock: { now(): number };
  readonly diagnose: (line: string) => void;
}

const { O_WRONLY, O_APPEND, O_CREAT, O_NOFOLLOW, O_NONBLOCK } = constants;
/** A FIFO in the file's place must not hold up the session. */
const APPEND = O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK;

/** The trace of a session; a line that cannot be appended is one line for the operator. */
export function createTrace(session: TracedSession): Trace {
  const path = join(session.directories.records.path, "trace.jsonl");
  return ({ event, ...fields }) => {
    const line = { event, at_ms: Math.floor(session.clock.now()), session_id: session.id, ...fields };
    try {
      appendWhole(path, Buffer.from(`${JSON.stringify(line)}\n`));
    } catch (error) {
      session.diagnose(`trace.jsonl could not be appended to: ${describeOsError(error)}`);
    }
  };
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

/** A delegation, or a call that came to none, is over; `since` is when it was called, on the session's clock (`elapsed`). */
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

/** A call that came to none: its arguments could not be read. What they name stands there as it was given. */
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

/** One write, as a rule: whoever else appends to the file comes before or after it. */
function appendWhole(path: string, bytes: Uint8Array): void {
  const descriptor = openSync(path, APPEND, 0o600);
  try {
    if (!fstatSync(descriptor).isFile()) throw new Error("it is not a regular file");
    for (let rest = bytes; rest.length > 0; ) rest = rest.subarray(writeSync(descriptor, rest));
  } finally {
    closeSync(descriptor);
  }
}
