/** A plan's `capsule` step: one delegation that is waited for, its answer read over A2A while the child still listens. */

import { bareName, type Coordinates } from "../../registry/artifact-name.ts";
import { within } from "../clock.ts";
import { delegationTimeoutSecs } from "../contract/environment.ts";
import { objectIn, stringIn } from "../json.ts";
import { describeExit } from "../launch/child-process.ts";
import { endAll } from "../launch/ending.ts";
import { launch } from "../launch/launch.ts";
import type { LaunchedChild } from "../launch/outcome.ts";
import { isRegistered, type RegisteredSession, type Session } from "../session/session.ts";
import { call } from "./a2a.ts";
import { deliverTask, pauseFor } from "./delivery.ts";
import type { DelegationIdentity } from "./identity.ts";
import { readRecord } from "./record-file.ts";
import { reportCompletion } from "./report.ts";
import { readAnswer } from "./result-file.ts";
import { createTrace } from "./trace.ts";
import { cutText } from "./utf8.ts";

const POLL_MS = 500;
/** The step of a cancelled task returns by then, though its child may still be winding down. */
const CANCEL_RETURNS_MS = 900;
const MAX_ANSWER_BYTES = 64 * 1024;

export interface CapsuleStep extends Coordinates {
  readonly task: string;
  readonly contextId: string;
  /** Aborts when the delegating task is cancelled. */
  readonly signal: AbortSignal;
}

export interface StepOutcome {
  readonly kind: "completed" | "timed_out" | "failed" | "refused" | "canceled";
  /** The answer where it completed, at most 64 KiB; else one sentence, which names the capsule and the bound. */
  readonly text: string;
}

/** Runs the step. Its child is given no address to report to, and is ended when the step returns. */
export async function runCapsuleStep(session: Session, step: CapsuleStep): Promise<StepOutcome> {
  if (!isRegistered(session)) {
    const unset = (session.environment.MURMUR_ROOST_URL ?? "").trim() === "";
    const why = unset
      ? "MURMUR_ROOST_URL is not set; capsule steps require mur-roost"
      : "this capsule declares no capabilities.spawn.allow, so a capsule step can start nothing";
    return { kind: "failed", text: why };
  }
  const since = session.clock.elapsed();
  const trace = createTrace(session);
  const { name, version } = step;
  const close = (
    outcome: StepOutcome,
    launched?: { delegationId: string; sessionId?: string },
  ): StepOutcome => {
    trace({
      event: "delegation",
      capsule: bareName(name),
      version,
      delegation_id: launched?.delegationId ?? null,
      child_session_id: launched?.sessionId ?? null,
      duration_ms: Math.round(session.clock.elapsed() - since),
      outcome: outcome.kind,
      reason: outcome.kind === "completed" ? null : outcome.text,
    });
    return outcome;
  };
  const outcome = await launch(session, { name, version, contextId: step.contextId, signal: step.signal });
  if (outcome.kind === "refused") return close({ kind: "refused", text: outcome.sentence });
  if (outcome.kind === "failed") {
    const { cause, message, started } = outcome.failure;
    return close(cause === "canceled" ? canceled(step) : { kind: "failed", text: message }, started);
  }
  const { child } = outcome;
  trace({
    event: "delegation_start",
    delegation_id: child.delegationId,
    capsule: bareName(name),
    version,
    child_session_id: child.sessionId,
    child_workdir: child.workdir.path,
    ...(child.copy && { workdir_snapshot: child.copy }),
  });
  const seen = await answerOf(session, step, child);
  const ending = end(session, child, seen);
  if (seen.kind === "canceled") {
    await within(session.clock, CANCEL_RETURNS_MS, ending);
    return close(canceled(step), child);
  }
  return close(await ending, child);
}

function canceled({ name, version }: CapsuleStep): StepOutcome {
  return { kind: "canceled", text: `${name}@${version} was ended: the delegating task was cancelled` };
}

/** What the child came to, while it runs. `text` is absent where it completed and its answer is in its file. */
type Seen = Omit<StepOutcome, "text"> & { readonly text?: string };

async function answerOf(session: RegisteredSession, step: CapsuleStep, child: LaunchedChild): Promise<Seen> {
  const { clock } = session;
  const what = `${step.name}@${step.version}`;
  const { door, operatorToken: token, delegationId } = child;
  if (!door) return { kind: "failed", text: `${what} bound no address` };
  const watchSecs = delegationTimeoutSecs(session.environment, session.manifest.delegationDeadlineSecs);
  const over = new AbortController();
  const timedOut = new AbortController();
  const stop = clock.after(Math.max(0, watchSecs * 1000 - (clock.elapsed() - child.readyAt)), () =>
    timedOut.abort(),
  );
  void child.exited.then(() => over.abort());
  const signal = AbortSignal.any([step.signal, timedOut.signal, over.signal]);
  try {
    const held = await deliverTask({ door, token, delegationId, task: step.task, signal }, clock);
    if (!held.ok && !signal.aborted)
      return { kind: "failed", text: `${what} did not take its task: ${held.fault}` };
    while (held.ok && !signal.aborted) {
      const reply = await call(
        { door, id: delegationId, method: "GetTask", params: { id: held.value }, token, signal },
        clock,
      );
      const seen = reply.kind === "result" ? read(reply.result, what) : undefined;
      if (seen) return seen;
      await pauseFor(POLL_MS, signal, clock);
    }
    if (step.signal.aborted) return canceled(step);
    if (timedOut.signal.aborted)
      return { kind: "timed_out", text: `${what} gave no answer within ${watchSecs}s` };
    return { kind: "failed", text: `${what} ended before it answered, ${describeExit(await child.exited)}` };
  } finally {
    stop();
  }
}

/** A task that is over; `undefined` while it works. */
function read(result: unknown, what: string): Seen | undefined {
  const task = objectIn(result);
  const state = stringIn(objectIn(task?.status)?.state);
  if (state === "TASK_STATE_COMPLETED") {
    const artifacts = task?.artifacts;
    const parts = Array.isArray(artifacts) ? objectIn(artifacts[0])?.parts : undefined;
    const text = Array.isArray(parts) ? stringIn(objectIn(parts[0])?.text) : undefined;
    return { kind: "completed", ...(text !== undefined && { text: cutText(text, MAX_ANSWER_BYTES) }) };
  }
  const ended = ["TASK_STATE_FAILED", "TASK_STATE_CANCELED", "TASK_STATE_REJECTED"];
  return state !== undefined && ended.includes(state)
    ? { kind: "failed", text: `the task of ${what} ended ${state}` }
    : undefined;
}

/** Ends the child, records that it was ended where it had not completed, and reads the file where A2A held no answer. */
async function end(session: RegisteredSession, child: LaunchedChild, seen: Seen): Promise<StepOutcome> {
  await endAll([child], session.clock);
  const identity: DelegationIdentity = { ...child, workdir: child.workdir.path };
  const { records } = child;
  let text = seen.text;
  if (records.ok) {
    const { descriptor } = records.value;
    const durationMs = Math.round(session.clock.elapsed() - child.readyAt);
    if (seen.kind !== "completed" && !readRecord(descriptor, identity, durationMs)) {
      await reportCompletion({
        identity,
        report: {
          status: "terminated",
          durationMs,
          detail: "the parent ended this delegation",
          reportedBy: "launcher",
        },
        records: descriptor,
        diagnose: session.diagnose,
      });
    }
    if (text === undefined) {
      const keeping = { runtime: session.directories.runtime.descriptor, delegationId: child.delegationId };
      const answer = await readAnswer(descriptor, keeping);
      if (answer.kind === "whole" || answer.kind === "cut") text = answer.text;
    }
  }
  child.release();
  return { kind: seen.kind, text: text ?? "" };
}
