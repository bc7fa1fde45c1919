/** A plan's `capsule` step: one delegation that the caller waits for. The answer is read before the child is ended. */

import { messageOf } from "../../os-error.ts";
import { type Coordinates, coordinateText } from "../../registry/artifact-name.ts";
import { ok } from "../../result.ts";
import type { Clock } from "../clock.ts";
import { delegationTimeoutSecs } from "../contract/environment.ts";
import { launch } from "../launch/launch.ts";
import type { ReportedChild } from "../launch/outcome.ts";
import { isRegistered, type RegisteredSession, type Session } from "../session/session.ts";
import { endChild, endUnposted, pastDeadline, recordsIfThere, type WatchedChild } from "./child.ts";
import { resultText } from "./result-file.ts";
import { canceled, seeChild } from "./step-answer.ts";
import { traceClose, traceStart } from "./trace.ts";
import { failureText } from "./untrusted.ts";

/** A cancelled step returns within this time, even if its child is still winding down. */
const CANCEL_RETURNS_MS = 900;

/** A plan's `capsule` step: which capsule to run, and its task. */
export interface CapsuleStep extends Coordinates {
  readonly task: string;
  readonly contextId: string;
  /** Aborts when the delegating task is cancelled. Without one, the step is not cancelled. */
  readonly signal?: AbortSignal;
  /** Called once the child's process was started. The delegation has its id from then on. */
  readonly onStarted?: (delegationId: string) => void;
}

type StepKind = "completed" | "timed_out" | "failed" | "refused" | "canceled";

/** The result of a step. */
export interface StepOutcome {
  readonly kind: StepKind;
  /**
   * The whole answer if the step completed, at most 64 MiB; otherwise why there is no answer. For a refusal, this is
   * the daemon's sentence, with invisible characters escaped.
   */
  readonly text: string;
  /** One line with the capsule's name, the step's result, and its time limit in seconds. */
  readonly sentence: string;
}

interface CancelableStep extends CapsuleStep {
  readonly signal: AbortSignal;
}

/** How the work of a step ended. */
type StepEnd = Pick<StepOutcome, "kind" | "text">;

/** The ids of the child, as far as they are known. */
type KnownIds = Partial<Record<"delegationId" | "sessionId", string>>;

/**
 * Runs the step. The child gets no address to report to, and is ended when the step returns. If the task is cancelled,
 * the step does not wait for a child that is slow to exit. Nothing that the child does makes it reject.
 */
export function runCapsuleStep(session: Session, step: CapsuleStep): Promise<StepOutcome> {
  return startCapsuleStep(session, step).returned;
}

/**
 * Like `runCapsuleStep`, for callers that also wait for the child's end.
 *
 * @returns `over` settles once the child is ended and reaped, and never rejects; a cancelled step may return before that
 */
export function startCapsuleStep(
  session: Session,
  asked: CapsuleStep,
): { readonly returned: Promise<StepOutcome>; readonly over: Promise<void> } {
  const { clock, environment, manifest } = session;
  const step = { ...asked, signal: asked.signal ?? new AbortController().signal };
  const since = clock.elapsed();
  const watchSecs = delegationTimeoutSecs(environment, manifest.delegationDeadlineSecs);
  const known: KnownIds = {};
  const work = isRegistered(session)
    ? perform(session, step, watchSecs, known)
    : Promise.resolve(unregistered(session));
  const returned = unlessCanceled(clock, step, work).then((ended) => {
    const reason = ended.kind === "completed" ? null : ended.text;
    traceClose(session, { ...step, ...known }, since, ended.kind, reason);
    return { ...ended, sentence: sentence(step, ended, watchSecs) };
  });
  const done = () => {};
  return { returned, over: work.then(done, done) };
}

const WORDS: Readonly<Record<StepKind, string>> = {
  completed: "completed",
  timed_out: "timed out",
  failed: "failed",
  refused: "was refused",
  canceled: "was cancelled",
};

function sentence({ name, version }: CapsuleStep, { kind, text }: StepEnd, secs: number): string {
  const why = kind === "completed" ? "" : `: ${text.split("\n")[0]}`;
  return `capsule step ${name}@${version} (bound: ${secs}s) ${WORDS[kind]}${why}`;
}

function unregistered({ environment }: Session): StepEnd {
  const unset = (environment.MURMUR_ROOST_URL ?? "").trim() === "";
  return {
    kind: "failed",
    text: unset
      ? "MURMUR_ROOST_URL is not set; capsule steps require mur-roost"
      : "this capsule declares no capabilities.spawn.allow, so a capsule step can start nothing",
  };
}

/** The work's result. If the step is cancelled, we wait only a while; the work then ends its child on its own. */
async function unlessCanceled(clock: Clock, step: CancelableStep, work: Promise<StepEnd>): Promise<StepEnd> {
  const { signal } = step;
  const overdue = Promise.withResolvers<StepEnd>();
  let stop = () => {};
  const onAbort = () => {
    stop = clock.after(CANCEL_RETURNS_MS, () => overdue.resolve(canceled(step)));
  };
  if (signal.aborted) onAbort();
  else signal.addEventListener("abort", onAbort, { once: true });
  try {
    return await Promise.race([work, overdue.promise]);
  } finally {
    stop();
    signal.removeEventListener("abort", onAbort);
  }
}

async function perform(
  session: RegisteredSession,
  step: CancelableStep,
  watchSecs: number,
  known: KnownIds,
): Promise<StepEnd> {
  const { name, version, contextId, signal } = step;
  const onStarted = (delegationId: string) => {
    known.delegationId = delegationId;
    step.onStarted?.(delegationId);
  };
  const onReported = (child: ReportedChild) => {
    known.sessionId = child.sessionId;
    traceStart(session, child);
  };
  const outcome = await launch(session, { name, version, contextId, signal, onStarted, onReported });
  if (outcome.kind === "refused") return { kind: "refused", text: outcome.sentence };
  if (outcome.kind === "failed") {
    return outcome.failure.cause === "canceled"
      ? canceled(step)
      : { kind: "failed", text: failureText(name, outcome.failure) };
  }
  const { child } = outcome;
  const watched = { session, child, watchSecs };
  try {
    return await seeAndEnd(watched, step);
  } catch (error) {
    await endUnposted(watched, "replaced");
    return { kind: "failed", text: `${coordinateText(step)} was ended: ${messageOf(error)}` };
  } finally {
    child.release();
  }
}

/** Ends the child. If it completed, we do not record that we ended it: only its own record, if any, counts. */
async function seeAndEnd(watched: WatchedChild, step: CancelableStep): Promise<StepEnd> {
  const seen = await seeChild(watched, step.task, step.signal);
  if (seen.kind === "completed") {
    await endChild(watched);
    return seen.text === undefined ? answerIn(watched, seen.script) : { kind: seen.kind, text: seen.text };
  }
  const { kind, text } = seen;
  const why = kind === "timed_out" ? pastDeadline(watched.watchSecs) : undefined;
  await endUnposted(watched, seen.taskOver ? "kept" : "replaced", why);
  return { kind, text };
}

/** The result of a child that completed without an answer over A2A. */
async function answerIn(watched: WatchedChild, script?: true): Promise<StepEnd> {
  const { child, session } = watched;
  const directory = script ? ok(child.workdir) : await recordsIfThere(watched);
  const answer = directory.ok ? await resultText(directory.value, child.secrets, session.clock) : directory;
  if (answer.ok) return { kind: "completed", text: answer.value };
  return {
    kind: "failed",
    text: `the result file of ${coordinateText(child)} could not be read: ${answer.fault}`,
  };
}
