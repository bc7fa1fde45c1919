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

/** Watches a delegation. Its door has to be told of `arrived` before the child can post: see `awaitCompletion`. */
export function watchDelegation(watching: Watching, arrival: Arrival): WatchedDelegation {
  const { session, child, watchSecs, identity } = watching;
  const { clock } = session;
  const asked = Promise.withResolvers<Next>();
  const deadline = Promise.withResolvers<Next>();
  const backstop = Promise.withResolvers<"backstop">();
  const sinceReady = clock.elapsed() - child.readyAt;
  const watchMs = watchSecs * 1000 - sinceReady;
  const stopDeadline = clock.after(Math.max(0, watchMs), () => deadline.resolve({ kind: "deadline" }));
  const stopBackstop = clock.after(Math.max(0, watchMs + BACKSTOP_EXTRA_SECS * 1000), () =>
    backstop.resolve("backstop"),
  );
  const claim = { abandoned: false };

  const live = async (): Promise<ClosedDelegation | undefined> => {
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
          await within(clock, EXIT_AFTER_COMPLETION_MS, settled);
          if (claim.abandoned) return undefined;
          const left = recordOf(watching);
          if (left) return closeReceived(watching, left);
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
    const over = first === "backstop" || !first ? await closeAtBackstop(watching, claim) : first;
    stopDeadline();
    stopBackstop();
    child.release();
    return over;
  })();
  return { identity, closed, end: (reason) => asked.resolve({ kind: "end", reason }) };
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
    ? readRecord(child.records.value.descriptor, identity, durationOf(watching))
    : undefined;
}

/** The child ended by itself: its own record, delivered once more where it was not; or `crashed`. */
async function closeExited(
  watching: Watching,
  claim: { abandoned: boolean },
): Promise<ClosedDelegation | undefined> {
  const { door, child } = watching;
  const left = recordOf(watching);
  if (left) {
    if (!left.delivered) await report(watching, { ...left }, true);
    return received(watching);
  }
  const how = await howItEnded(child);
  if (claim.abandoned) return undefined;
  const crashed: Report = {
    status: "crashed",
    durationMs: durationOf(watching),
    detail: how,
    reportedBy: "launcher",
  };
  await report(watching, crashed, true);
  door.received(watching.identity.delegationId);
  return reported(watching, how.split("\n")[0] ?? how);
}

/** Its completion arrived and its record is there; it only did not exit. */
async function closeReceived(watching: Watching, left: CompletionRecord): Promise<ClosedDelegation> {
  await endAll([watching.child], watching.session.clock);
  // A child that was still there may have spoilt the record that it had left.
  if (!recordOf(watching)) await report(watching, { ...left }, false);
  return received(watching);
}

function received(watching: Watching): Promise<ClosedDelegation> {
  watching.door.received(watching.identity.delegationId);
  return reported(watching, null);
}

/** Ended on purpose: at its deadline, whose outcome is posted, or by its task, whose outcome is posted to nobody. */
async function closeEnded(
  watching: Watching,
  claim: { abandoned: boolean },
  arrival: Arrival,
  why: { readonly byTask: boolean; readonly reason: string },
): Promise<ClosedDelegation | undefined> {
  const { session, door, child, identity } = watching;
  const left = arrival.any() ? recordOf(watching) : undefined;
  if (left) return closeReceived(watching, left);
  door.ending(identity.delegationId);
  await endAll([child], session.clock);
  const detail = why.byTask ? ENDED_BY_PARENT : `${why.reason}\n${await howItEnded(child)}`;
  if (claim.abandoned) return undefined;
  const terminated: Report = {
    status: "terminated",
    durationMs: durationOf(watching),
    detail,
    reportedBy: "launcher",
  };
  if (!why.byTask) door.await(identity.delegationId, () => {});
  await report(watching, terminated, !why.byTask);
  if (why.byTask) door.forget(identity.delegationId);
  else door.received(identity.delegationId);
  return reported(watching, why.reason);
}

/** Nothing of the above came to an end: a child that not even SIGKILL ended, as a rule. */
async function closeAtBackstop(watching: Watching, claim: { abandoned: boolean }): Promise<ClosedDelegation> {
  claim.abandoned = true;
  const { session, door, child, identity, watchSecs } = watching;
  const reason = `no outcome reached the delegating task within ${watchSecs + BACKSTOP_EXTRA_SECS}s of this sub-capsule starting`;
  door.ending(identity.delegationId);
  await within(session.clock, GRACE_MS + 1_000, endAll([child], session.clock));
  const terminated: Report = {
    status: "terminated",
    durationMs: durationOf(watching),
    detail: ENDED_BY_PARENT,
    reportedBy: "launcher",
  };
  await report(watching, terminated, false);
  door.forget(identity.delegationId);
  return reported(watching, reason, { detail: reason });
}

async function report(watching: Watching, what: Report, posted: boolean): Promise<void> {
  const { session, door, child, identity } = watching;
  if (!child.records.ok) return;
  await reportCompletion({
    identity,
    report: what,
    records: child.records.value.descriptor,
    diagnose: session.diagnose,
    ...(posted && { post: postInProcess(door, session.id) }),
  });
}

/** What the task is told, from the record as it stands now: without a readable one, only the reason. */
async function reported(
  watching: Watching,
  reason: string | null,
  told?: { readonly detail: string },
): Promise<ClosedDelegation> {
  const { session, child, identity } = watching;
  const record = recordOf(watching);
  if (!record || !child.records.ok) {
    const why = child.records.ok ? "its completion.json could not be written" : child.records.fault;
    const known = reason ?? describeExit(await child.exited);
    const sentence = `no record of how it ended can be read: ${why}; what its launcher saw: ${known}`;
    return { identity, ended: { kind: "unknown", reason: sentence }, outcome: "unknown", reason: sentence };
  }
  const answer = await readAnswer(child.records.value.descriptor, {
    runtime: session.directories.runtime.descriptor,
    delegationId: identity.delegationId,
  });
  const { status, durationMs } = record;
  const { detail } = told ?? record;
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
