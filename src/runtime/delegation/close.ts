/** Closes a delegation: records its end, posts it, then tells its task. */

import { describeExit } from "../launch/held-process.ts";
import type { Report } from "./completion.ts";
import { type DelegationEnd, reasonOf, reportOf } from "./delegation-end.ts";
import type { DelegationIdentity } from "./identity.ts";
import type { ToldEnd } from "./outcome-block.ts";
import { postInProcess, reportCompletion } from "./report.ts";
import { readAnswer } from "./result-file.ts";
import type { DelegationOutcome } from "./trace.ts";
import { durationOf, type Watching } from "./watched-child.ts";

/** A delegation that is over: its child has been reaped, and its record does not change any more. */
export interface ClosedDelegation {
  readonly identity: DelegationIdentity;
  readonly told: ToldEnd;
  readonly outcome: DelegationOutcome;
  readonly reason: string | null;
}

export async function closeDelegation(watching: Watching, end: DelegationEnd): Promise<ClosedDelegation> {
  const report = reportOf(end, durationOf(watching), watching.child.secrets);
  const stands = await recordEnd(watching, end, report);
  return report && stands ? recorded(watching, end, report) : unrecorded(watching, end);
}

/**
 * Records the end and tells the door how to answer further completions. If the child's own report was not delivered, it
 * is delivered now. If the task or the backstop ended the child, the end is recorded but not posted.
 *
 * @returns whether there is a record of the end
 */
async function recordEnd(
  watching: Watching,
  end: DelegationEnd,
  report: Report | undefined,
): Promise<boolean> {
  const { door } = watching;
  const { delegationId } = watching.identity;
  if (!report || (end.kind === "terminated" && end.by !== "deadline")) {
    const written = report !== undefined && (await write(watching, report, false));
    door.forget(delegationId);
    return written;
  }
  // The door refused completions while the child was being ended. It has to accept this one.
  if (end.kind === "terminated") door.await(delegationId, () => {});
  const isDelivered = end.kind === "reported" && end.record.delivered;
  const written = isDelivered || (await write(watching, report, true));
  door.received(delegationId);
  return written || end.kind === "reported";
}

async function write(watching: Watching, report: Report, posted: boolean): Promise<boolean> {
  const { session, door, child, identity } = watching;
  if (!child.records.ok) return false;
  const { written } = await reportCompletion({
    identity,
    report,
    records: child.records.value.descriptor,
    diagnose: session.diagnose,
    ...(posted && { post: postInProcess(door, session.id) }),
  });
  return written;
}

async function recorded(
  { session, child, identity }: Watching,
  end: DelegationEnd,
  { status, durationMs, detail }: Report,
): Promise<ClosedDelegation> {
  const reason = reasonOf(end);
  // The record says that the parent ended it. The task is told the actual reason: no outcome came in time.
  const said = end.kind === "terminated" && end.by === "backstop" ? end.reason : detail;
  const answer = child.records.ok
    ? await readAnswer(child.records.value.descriptor, {
        runtime: session.directories.runtime.descriptor,
        delegationId: identity.delegationId,
        secrets: child.secrets,
      })
    : ({ kind: "none" } as const);
  return {
    identity,
    told: { kind: "recorded", status, durationMs, detail: said, answer },
    outcome: status,
    reason,
  };
}

/**
 * If there is no record, the task is told only the reason. The trace needs no record to know that the launcher ended
 * the child, so it says `terminated` with the same reason.
 */
async function unrecorded({ child, identity }: Watching, end: DelegationEnd): Promise<ClosedDelegation> {
  const unwritten = end.kind === "lost" ? "it left none" : "its completion.json could not be written";
  const why = child.records.ok ? unwritten : child.records.fault;
  const reason = reasonOf(end);
  const known = reason ?? describeExit(await child.exited);
  const sentence = `no record of how it ended can be read: ${why}; what its launcher saw: ${known}`;
  const told: ToldEnd = { kind: "unknown", reason: sentence };
  return end.kind === "terminated"
    ? { identity, told, outcome: "terminated", reason }
    : { identity, told, outcome: "unknown", reason: sentence };
}
