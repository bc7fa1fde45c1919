/** One delegation from the moment its child holds its task to its close: watched, ended where it must be, reported once. */

import { within } from "../clock.ts";
import { describeExit } from "../launch/child-process.ts";
import { endAll, GRACE_MS } from "../launch/ending.ts";
import type { LaunchedChild } from "../launch/outcome.ts";
import type { RegisteredSession } from "../session/session.ts";
import type { CompletionRecord, Report } from "./completion.ts";
import type { CompletionDoor } from "./door.ts";
import type { DelegationIdentity } from "./identity.ts";
import type { Ended } from "./outcome-block.ts";
import { readRecord } from "./record-file.ts";
import { postInProcess, reportCompletion } from "./report.ts";
import { readAnswer } from "./result-file.ts";
import type { DelegationOutcome } from "./trace.ts";

/** A delegating task waits this much longer for an outcome than its child is watched. */
export const BACKSTOP_EXTRA_SECS = 30;
/** After its completion arrived, a child has this long to exit. */
export const EXIT_AFTER_COMPLETION_MS = 5_000;
/** The whole detail of a child that the delegating task ended. */
export const ENDED_BY_PARENT = "the parent ended this delegation";

export interface Watching {
  readonly session: RegisteredSession;
  readonly door: CompletionDoor;
  readonly child: LaunchedChild;
  readonly identity: DelegationIdentity;
  /** The child watch, whole seconds from readiness. */
  readonly watchSecs: number;
}

/** A delegation that is over: its child has been reaped, its record stands. */
export interface ClosedDelegation {
  readonly identity: DelegationIdentity;
  readonly ended: Ended;
  readonly outcome: DelegationOutcome;
  readonly reason: string | null;
}

export interface WatchedDelegation {
  readonly identity: DelegationIdentity;
  /** Settles once, and never rejects for anything that the child does. */
  readonly closed: Promise<ClosedDelegation>;
  /** The task ends it; a child that is gone already, or whose completion was received, keeps its own outcome. */
  end(reason: string): void;
}

/** What can happen to a delegation next. */
type Next =
  | { readonly kind: "exited" }
  | { readonly kind: "end"; readonly reason: string }
  | { readonly kind: "deadline" }
  | { readonly kind: "arrived" };

/** Who closes a delegation: what goes on while its child is being ended, or the backstop. */
interface Claim {
  /** The backstop did; the child's folders are let go. */
  abandoned: boolean;
  /** The record that was there when its completion arrived: its outcome, whatever becomes of its child. */
  received?: CompletionRecord;
}

/** Watches a delegation. Its door has to be told of `arrived` before the child can post: see `awaitCompletion`. */
export function watchDelegation(watching: Watching, arrival: Arrival): WatchedDelegation {
  const { session, child, watchSecs, identity } = watching;
  const { clock } = session;
  const asked = Promise.withResolvers<Next>();
  const deadline = Promise.withResolvers<Next>();
  const backstop = Promise.withResolvers<"backstop">();
  const watchMs = watchLeftMs(watching);
  const stopDeadline = clock.after(watchMs, () => deadline.resolve({ kind: "deadline" }));
  const stopBackstop = clock.after(watchMs + BACKSTOP_EXTRA_SECS * 1000, () => backstop.resolve("backstop"));
  const claim: Claim = { abandoned: false };

  const live = async (): Promise<Verdict | undefined> => {
    const exited = child.exited.then((): Next => ({ kind: "exited" }));
    for (;;) {
      // The order decides between what has happened at once: a child that is gone keeps its own outcome.
      const next = await Promise.race([exited, asked.promise, deadline.promise, arrival.next()]);
      if (claim.abandoned) return undefined;
      switch (next.kind) {
        case "exited":
          return closeExited(watching, claim);
        case "end":
          return closeEnded(watching, claim, arrival, { byTask: true, reason: next.reason });
        case "deadline":
          return closeEnded(watching, claim, arrival, { byTask: false, reason: pastDeadline(watchSecs) });
        case "arrived": {
          const settled = Promise.race([exited, asked.promise, deadline.promise]);
          const then = await within(clock, EXIT_AFTER_COMPLETION_MS, settled);
          if (claim.abandoned) return undefined;
          if (then !== "late" && then.value.kind === "exited") return closeExited(watching, claim);
          const left = recordOf(watching);
          if (left) return closeReceived(watching, claim, left);
          // A post without a record is no outcome: anything on loopback can make one.
          arrival.again();
          break;
        }
        default:
          next satisfies never;
      }
    }
  };

  const closed = (async () => {
    const first = await Promise.race([live(), backstop.promise]);
    const verdict = first === "backstop" || !first ? await closeAtBackstop(watching, claim) : first;
    // An outcome that is there is read to its end, however long its answer is.
    stopDeadline();
    stopBackstop();
    const over = await reported(watching, verdict);
    child.release();
    return over;
  })();
  return { identity, closed, end: (reason) => asked.resolve({ kind: "end", reason }) };
}

/** What is left of the child watch, in milliseconds; it counts from readiness. */
export function watchLeftMs({ session, child, watchSecs }: Watching): number {
  return Math.max(0, watchSecs * 1000 - (session.clock.elapsed() - child.readyAt));
}

/** Why a child was ended at its deadline. */
export function pastDeadline(secs: number): string {
  return `still running at its deadline of ${secs}s (lifecycle.delegation_deadline_secs, MURMUR_DELEGATION_TIMEOUT_SECS)`;
}

/** Hints that a completion arrived. */
export interface Arrival {
  /** Whether any came. */
  readonly any: () => boolean;
  next(): Promise<Next>;
  /** The last hint was not one. */
  again(): void;
}

/** From now on the door receives completions of this delegation. */
export function awaitCompletion(door: CompletionDoor, delegationId: string): Arrival {
  let any = false;
  let hint = Promise.withResolvers<Next>();
  door.await(delegationId, () => {
    any = true;
    hint.resolve({ kind: "arrived" });
  });
  return {
    any: () => any,
    next: () => hint.promise,
    again() {
      hint = Promise.withResolvers<Next>();
    },
  };
}

type Measured = Pick<Watching, "session" | "child">;

/** How long the child has run since it was ready, in milliseconds. */
export function durationOf({ session, child }: Measured): number {
  return Math.round(session.clock.elapsed() - child.readyAt);
}

/** The record that the child left, where it is one of this delegation. */
export function recordOf(watching: Measured & Pick<Watching, "identity">): CompletionRecord | undefined {
  const { child, identity } = watching;
  return child.records.ok
    ? readRecord(child.records.value.descriptor, identity, durationOf(watching), child.secrets)
    : undefined;
}

/** What a delegation came to; its record stands where there can be one. */
interface Verdict {
  /** Its launcher ended it, for `reason`. */
  readonly terminated?: true;
  readonly reason: string | null;
  /** What its task is told in the place of the record's detail. */
  readonly detail?: string;
}

/** The child ended by itself: its own record, delivered once more where it was not; or `crashed`. */
async function closeExited(watching: Watching, claim: Claim): Promise<Verdict | undefined> {
  const { door, child, identity } = watching;
  const left = recordOf(watching);
  if (left) return keep(watching, left);
  const how = await howItEnded(child);
  if (claim.abandoned) return undefined;
  await report(watching, { status: "crashed", detail: how }, true);
  door.received(identity.delegationId);
  return { reason: how.split("\n")[0] ?? how };
}

/** Its completion arrived and its record is there; it only did not exit. */
async function closeReceived(
  watching: Watching,
  claim: Claim,
  left: CompletionRecord,
): Promise<Verdict | undefined> {
  claim.received = left;
  await endAll([watching.child], watching.session.clock);
  return claim.abandoned ? undefined : keepReceived(watching, left);
}

function keepReceived(watching: Watching, left: CompletionRecord): Promise<Verdict> {
  // A child that was still there may have spoilt the record that it had left.
  return keep(watching, recordOf(watching) ?? { ...left, delivered: false });
}

/** The record that the child left is its outcome; it is delivered once more where it was not. */
async function keep(watching: Watching, left: CompletionRecord): Promise<Verdict> {
  if (!left.delivered) await report(watching, left, true);
  watching.door.received(watching.identity.delegationId);
  return { reason: null };
}

/** Ended on purpose: at its deadline, whose outcome is posted, or by its task, whose outcome is posted to nobody. */
async function closeEnded(
  watching: Watching,
  claim: Claim,
  arrival: Arrival,
  why: { readonly byTask: boolean; readonly reason: string },
): Promise<Verdict | undefined> {
  const { session, door, child, identity } = watching;
  const { byTask, reason } = why;
  const left = arrival.any() ? recordOf(watching) : undefined;
  if (left) return closeReceived(watching, claim, left);
  door.ending(identity.delegationId);
  await endAll([child], session.clock);
  const detail = byTask ? ENDED_BY_PARENT : `${reason}\n${await howItEnded(child)}`;
  if (claim.abandoned) return undefined;
  if (!byTask) door.await(identity.delegationId, () => {});
  await report(watching, { status: "terminated", detail }, !byTask);
  if (byTask) door.forget(identity.delegationId);
  else door.received(identity.delegationId);
  return { terminated: true, reason };
}

/** Nothing of the above came to an end: a child that not even SIGKILL ended, as a rule. */
async function closeAtBackstop(watching: Watching, claim: Claim): Promise<Verdict> {
  claim.abandoned = true;
  if (claim.received) return keepReceived(watching, claim.received);
  const { session, door, child, identity, watchSecs } = watching;
  const reason = `no outcome reached the delegating task within ${watchSecs + BACKSTOP_EXTRA_SECS}s of this sub-capsule starting`;
  door.ending(identity.delegationId);
  await within(session.clock, GRACE_MS + 1_000, endAll([child], session.clock));
  await report(watching, { status: "terminated", detail: ENDED_BY_PARENT }, false);
  door.forget(identity.delegationId);
  return { terminated: true, reason, detail: reason };
}

type Reported = CompletionRecord | Pick<Report, "status" | "detail">;

/** Records what the child left, or what its launcher says of its end. */
async function report(watching: Watching, what: Reported, posted: boolean): Promise<void> {
  const { session, door, child, identity } = watching;
  if (!child.records.ok) return;
  await reportCompletion({
    identity,
    report: { durationMs: durationOf(watching), reportedBy: "launcher", ...what },
    records: child.records.value.descriptor,
    diagnose: session.diagnose,
    ...(posted && { post: postInProcess(door, session.id) }),
  });
}

/**
 * What the task is told, from the record as it stands now: without a readable one, only the reason. That its launcher
 * ended the child needs no record: the trace says so, for the very reason.
 */
async function reported(watching: Watching, verdict: Verdict): Promise<ClosedDelegation> {
  const { session, child, identity } = watching;
  const { terminated, reason } = verdict;
  const record = recordOf(watching);
  if (!record || !child.records.ok) {
    const why = child.records.ok ? "its completion.json could not be written" : child.records.fault;
    const known = reason ?? describeExit(await child.exited);
    const sentence = `no record of how it ended can be read: ${why}; what its launcher saw: ${known}`;
    const ended: Ended = { kind: "unknown", reason: sentence };
    return terminated
      ? { identity, ended, outcome: "terminated", reason }
      : { identity, ended, outcome: "unknown", reason: sentence };
  }
  const answer = await readAnswer(child.records.value.descriptor, {
    runtime: session.directories.runtime.descriptor,
    delegationId: identity.delegationId,
    secrets: child.secrets,
  });
  const { status, durationMs, detail } = { ...record, ...(verdict.detail && { detail: verdict.detail }) };
  return {
    identity,
    ended: { kind: "recorded", status, durationMs, detail, answer },
    outcome: status,
    reason,
  };
}

/** The exit status, and the last lines that the child wrote to its standard error. */
export async function howItEnded(child: LaunchedChild): Promise<string> {
  const lines = await child.lastStderrLines();
  return [describeExit(await child.exited), ...lines].join("\n");
}
