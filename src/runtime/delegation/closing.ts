/** How a delegation is closed: by its child's own record, by its end, by its task, or by one of its bounds. */

import { within } from "../clock.ts";
import { GRACE_MS } from "../launch/ending.ts";
import { describeExit } from "../launch/exit-status.ts";
import type { Arrival } from "./arrival.ts";
import type { CompletionRecord, Report } from "./completion.ts";
import type { DelegationIdentity } from "./identity.ts";
import type { Ended } from "./outcome-block.ts";
import { postInProcess, reportCompletion } from "./report.ts";
import { readAnswer } from "./result-file.ts";
import type { DelegationOutcome } from "./trace.ts";
import {
  durationOf,
  ENDED_BY_PARENT,
  endChild,
  howItEnded,
  recordOf,
  type Watching,
} from "./watched-child.ts";

/** A delegating task waits this much longer for an outcome than its child is watched. */
export const BACKSTOP_EXTRA_SECS = 30;

/** A delegation that is over: its child has been reaped, and its record is final. */
export interface ClosedDelegation {
  readonly identity: DelegationIdentity;
  readonly ended: Ended;
  readonly outcome: DelegationOutcome;
  readonly reason: string | null;
}

/** Who closes a delegation: what goes on while its child is being ended, or the backstop. */
export interface Claim {
  /** The backstop did; the child's folders are let go. */
  abandoned: boolean;
  /** The record that was there when its completion arrived: its outcome, whatever becomes of its child. */
  received?: CompletionRecord;
}

/** How a delegation ended; its record is final, if there can be one. */
export interface Verdict {
  /** Its launcher ended it, for `reason`. */
  readonly terminated?: true;
  readonly reason: string | null;
  /** Nobody knows how it ended, for `reason`: there is no record. */
  readonly lost?: true;
  /** What its task is told in the place of the record's detail. */
  readonly detail?: string;
}

/**
 * The child ended by itself: its own record, delivered once more where it was not; or `crashed`. Of one whose exit status
 * was lost nobody knows which.
 */
export async function closeExited(watching: Watching, claim: Claim): Promise<Verdict | undefined> {
  const { door, child, identity } = watching;
  const left = recordOf(watching);
  if (left) return keep(watching, left);
  const status = await child.exited;
  if (status.kind === "lost") {
    door.forget(identity.delegationId);
    return { reason: describeExit(status), lost: true };
  }
  const how = await howItEnded(child);
  if (claim.abandoned) return undefined;
  await report(watching, { status: "crashed", detail: how }, true);
  door.received(identity.delegationId);
  return { reason: how.split("\n")[0] ?? how };
}

/** Its completion arrived and its record is there; it only did not exit. */
export async function closeReceived(
  watching: Watching,
  claim: Claim,
  left: CompletionRecord,
): Promise<Verdict | undefined> {
  claim.received = left;
  await endChild(watching);
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
export async function closeEnded(
  watching: Watching,
  claim: Claim,
  arrival: Arrival,
  why: { readonly byTask: boolean; readonly reason: string },
): Promise<Verdict | undefined> {
  const { door, child, identity } = watching;
  const { byTask, reason } = why;
  const left = arrival.any() ? recordOf(watching) : undefined;
  if (left) return closeReceived(watching, claim, left);
  door.ending(identity.delegationId);
  await endChild(watching);
  const detail = byTask ? ENDED_BY_PARENT : `${reason}\n${await howItEnded(child)}`;
  if (claim.abandoned) return undefined;
  if (!byTask) door.await(identity.delegationId, () => {});
  await report(watching, { status: "terminated", detail }, !byTask);
  if (byTask) door.forget(identity.delegationId);
  else door.received(identity.delegationId);
  return { terminated: true, reason };
}

/** Nothing of the above came to an end. */
export async function closeAtBackstop(watching: Watching, claim: Claim): Promise<Verdict> {
  claim.abandoned = true;
  if (claim.received) return keepReceived(watching, claim.received);
  const { session, door, identity, watchSecs } = watching;
  const reason = `no outcome reached the delegating task within ${watchSecs + BACKSTOP_EXTRA_SECS}s of this sub-capsule starting`;
  door.ending(identity.delegationId);
  await within(session.clock, GRACE_MS + 1_000, endChild(watching));
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
 * What the task is told, from the record as it is now: without a readable one, only the reason. That its launcher
 * ended the child needs no record: the trace says so, with that reason.
 */
export async function reported(watching: Watching, verdict: Verdict): Promise<ClosedDelegation> {
  const { session, child, identity } = watching;
  const { terminated, lost, reason } = verdict;
  const record = recordOf(watching);
  if (!record || !child.records.ok) {
    const unwritten = lost ? "it left none" : "its completion.json could not be written";
    const why = child.records.ok ? unwritten : child.records.fault;
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
