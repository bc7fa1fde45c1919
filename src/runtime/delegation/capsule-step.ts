/** A plan's `capsule` step: one delegation that is waited for, its answer read while the child still listens. */

import type { Coordinates } from "../../registry/artifact-name.ts";
import type { Clock } from "../clock.ts";
import { delegationTimeoutSecs } from "../contract/environment.ts";
import { launch } from "../launch/launch.ts";
import type { LaunchedChild } from "../launch/outcome.ts";
import { isRegistered, type RegisteredSession, type Session } from "../session/session.ts";
import { endUnposted } from "./ended-child.ts";
import { identityOf } from "./identity.ts";
import { failureText } from "./quoted.ts";
import { resultText, type Seen, seeChild } from "./step-answer.ts";
import { traceClose, traceStart } from "./trace.ts";
import { endChild, pastDeadline } from "./watched-child.ts";

/** The step of a cancelled task returns by then, though its child may still be winding down. */
const CANCEL_RETURNS_MS = 900;

/** A plan's `capsule` step: which capsule, and what it is told. */
export interface CapsuleStep extends Coordinates {
  readonly task: string;
  readonly contextId: string;
  /** Aborts when the delegating task is cancelled. */
  readonly signal: AbortSignal;
  /** Called once its process was started; the delegation has its id from then on. */
  readonly onStarted?: (delegationId: string) => void;
}

export type StepKind = "completed" | "timed_out" | "failed" | "refused" | "canceled";

/** The result of a step. */
export interface StepOutcome {
  readonly kind: StepKind;
  /**
   * The whole answer if it completed, 64 MiB at most; otherwise why there is none. A refusal is the daemon's sentence,
   * byte for byte.
   */
  readonly text: string;
  /** One line that names the capsule, the step's result, and its bound in seconds. */
  readonly sentence: string;
}

/** How the work of a step ended. */
type Ended = Pick<StepOutcome, "kind" | "text">;

/** What is known of the child by now. */
interface Known {
  delegationId?: string;
  sessionId?: string;
}

/** A step that has begun. */
export interface RunningStep {
  /** Never rejects for anything that the child does. */
  readonly returned: Promise<StepOutcome>;
  /** Settles once its child has been ended and reaped, which a cancelled step does not wait for. Never rejects. */
  readonly over: Promise<void>;
}

/**
 * Runs the step. Its child is given no address to report to, and is ended when the step returns; a child that does not
 * go at once does not hold up the step of a cancelled task. Never rejects for anything that the child does.
 */
export function runCapsuleStep(session: Session, step: CapsuleStep): Promise<StepOutcome> {
  return startCapsuleStep(session, step).returned;
}

/** The same, for callers that wait for the end of the child as well. */
export function startCapsuleStep(session: Session, step: CapsuleStep): RunningStep {
  const { clock, environment, manifest } = session;
  const since = clock.elapsed();
  const watchSecs = delegationTimeoutSecs(environment, manifest.delegationDeadlineSecs);
  const known: Known = {};
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

function sentence({ name, version }: CapsuleStep, { kind, text }: Ended, secs: number): string {
  const why = kind === "completed" ? "" : `: ${text.split("\n")[0]}`;
  return `capsule step ${name}@${version} (bound: ${secs}s) ${WORDS[kind]}${why}`;
}

function unregistered({ environment }: Session): Ended {
  const unset = (environment.MURMUR_ROOST_URL ?? "").trim() === "";
  return {
    kind: "failed",
    text: unset
      ? "MURMUR_ROOST_URL is not set; capsule steps require mur-roost"
      : "this capsule declares no capabilities.spawn.allow, so a capsule step can start nothing",
  };
}

function canceled({ name, version }: CapsuleStep): Ended {
  return { kind: "canceled", text: `${name}@${version} was ended: the delegating task was cancelled` };
}

/** The work's result. A while after the step was cancelled, the work is left to end its child by itself. */
async function unlessCanceled(clock: Clock, step: CapsuleStep, work: Promise<Ended>): Promise<Ended> {
  const { signal } = step;
  const overdue = Promise.withResolvers<Ended>();
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
  step: CapsuleStep,
  watchSecs: number,
  known: Known,
): Promise<Ended> {
  const { name, version, contextId, signal } = step;
  const onStarted = (delegationId: string) => {
    known.delegationId = delegationId;
    step.onStarted?.(delegationId);
  };
  const outcome = await launch(session, { name, version, contextId, signal, onStarted });
  if (outcome.kind === "refused") return { kind: "refused", text: outcome.sentence };
  if (outcome.kind === "failed") {
    const { cause } = outcome.failure;
    return cause === "canceled"
      ? canceled(step)
      : { kind: "failed", text: failureText(name, outcome.failure) };
  }
  const { child } = outcome;
  known.sessionId = child.sessionId;
  traceStart(session, child);
  try {
    const seen = await seeChild(session, step, child, watchSecs);
    await endSeen(session, child, seen, watchSecs);
    return await endOf(step, child, seen);
  } finally {
    child.release();
  }
}

/** Ends the child. Of one that completed nobody records that it was ended: its own record, if any, is the record. */
async function endSeen(
  session: RegisteredSession,
  child: LaunchedChild,
  seen: Seen,
  watchSecs: number,
): Promise<void> {
  if (seen.kind === "completed") return endChild({ session, child });
  const held = { session, child, identity: identityOf(child) };
  const own = seen.kind === "failed" && seen.taskOver ? "kept" : "replaced";
  return endUnposted(held, { own, ...(seen.kind === "timed_out" && { why: pastDeadline(watchSecs) }) });
}

async function endOf(step: CapsuleStep, child: LaunchedChild, seen: Seen): Promise<Ended> {
  if (seen.kind === "canceled") return canceled(step);
  if (seen.kind !== "completed") return { kind: seen.kind, text: seen.text };
  return { kind: seen.kind, text: seen.text ?? (await answerIn(child, seen.script)) };
}

/** The answer of a child that gave none over A2A. */
async function answerIn(child: LaunchedChild, script: true | undefined): Promise<string> {
  const { workdir, records, secrets } = child;
  if (script) return resultText(workdir, secrets);
  return records.ok ? resultText(records.value, secrets) : "";
}
