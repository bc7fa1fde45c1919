/** The child of a delegation: how long it may run, what it recorded, how it ended, and its end if none is posted. */

import { setImmediate as turn } from "node:timers/promises";
import { ok, type Result } from "../../result.ts";
import { describeExit, endAll, lookNow } from "../launch/held-process.ts";
import type { ChildRecords, LaunchedChild } from "../launch/outcome.ts";
import { redactSaid } from "../redaction.ts";
import type { RegisteredSession } from "../session/session.ts";
import { triedAgain } from "../tree/files.ts";
import type { HeldDirectory } from "../tree/held.ts";
import {
  type CompletionRecord,
  cutDetail,
  type Post,
  type Report,
  readRecord,
  reportCompletion,
} from "./completion.ts";
import type { CompletionDoor } from "./door.ts";
import { resultPathIn } from "./result-file.ts";

/** How long a child has to exit after its completion arrived. */
export const EXIT_AFTER_COMPLETION_MS = 5_000;

/** A child that reported itself ready, and the session that launched it. */
interface OwnChild {
  readonly session: RegisteredSession;
  readonly child: LaunchedChild;
}

export interface WatchedChild extends OwnChild {
  /** The child watch, whole seconds from readiness. */
  readonly watchSecs: number;
}

/** A delegation whose child is ready. */
export interface Delegation extends WatchedChild {
  readonly door: CompletionDoor;
  /** When the model asked for it, by the session's clock. */
  readonly since: number;
}

/** The time left in the child watch, in milliseconds. The watch starts at readiness (API page, "Bounds"). */
export function watchLeftMs({ session, child, watchSecs }: WatchedChild): number {
  return Math.max(0, watchSecs * 1000 - (session.clock.elapsed() - child.readyAt));
}

/** Why a child was ended at its deadline. */
export function pastDeadline(secs: number): string {
  return `still running at its deadline of ${secs}s (lifecycle.delegation_deadline_secs, MURMUR_DELEGATION_TIMEOUT_SECS)`;
}

/** Ends the child. If it cannot be reaped, the wait stops one second after the grace. */
export function endChild({ session, child }: OwnChild): Promise<void> {
  return endAll([child], session.clock, session.hurry.signal);
}

/** How long the child has run since it was ready, in milliseconds. */
export function durationOf({ session, child }: OwnChild): number {
  return Math.round(session.clock.elapsed() - child.readyAt);
}

/**
 * The child's records directory. `undefined`: it certainly has none that may be read. The fault says why that is not known.
 * If no descriptor is free, this waits up to 2 s for one.
 */
export async function recordsIfThere(own: OwnChild): Promise<Result<HeldDirectory | undefined, string>> {
  const { child, session } = own;
  const isShort = (records: ChildRecords) => !records.ok && records.unclear === "no-descriptor";
  const records = await triedAgain(session.clock, () => child.records, isShort);
  return records.ok || records.unclear ? records : ok(undefined);
}

/**
 * The record that the child left, if it belongs to this delegation. The fault says why it could not be read. If no
 * descriptor is free, this waits for one, up to 2 s for its directory and for the file.
 */
export async function recordOf(own: OwnChild): Promise<Result<CompletionRecord | undefined, string>> {
  const { child, session } = own;
  const records = await recordsIfThere(own);
  if (!records.ok || !records.value) return records.ok ? ok(undefined) : records;
  return readRecord(records.value.descriptor, child, durationOf(own), child.secrets, session.clock);
}

/**
 * Records a report in the child's records directory, and posts it with `post`. The launcher's own report also says where
 * the child's result is. Returns whether there is a record now.
 */
export async function record({ session, child }: OwnChild, report: Report, post?: Post): Promise<boolean> {
  const { records } = child;
  if (!records.ok) return false;
  const { descriptor } = records.value;
  const { diagnose } = session;
  const whole = report.reportedBy === "launcher" ? { ...report, resultPath: resultPathOf(child) } : report;
  const reporting = { identity: child, report: whole, records: descriptor, post, diagnose };
  return (await reportCompletion(reporting)).written;
}

/** A script, which has no door, leaves its result in its work folder. */
function resultPathOf({ door, records, workdir }: LaunchedChild): string | undefined {
  const directory = door ? records : ok(workdir);
  return directory.ok ? resultPathIn(directory.value) : undefined;
}

/** Whether the child has exited by now, even if nobody has noticed yet. */
export async function hasExited(child: LaunchedChild): Promise<boolean> {
  lookNow();
  return Promise.race([child.exited.then(() => true), turn(false)]);
}

/**
 * The exit status, and the last lines that the child wrote to its standard error. Only those lines are redacted: the child
 * chose its token, which may be a word of ours.
 */
export async function howItEnded(child: LaunchedChild): Promise<string> {
  const lines = (await child.lastStderrLines()).map((line) => redactSaid(line, child.secrets));
  return [describeExit(await child.exited), ...lines].join("\n");
}

/** How a delegation ended. The record, the trace and what the task is told all come from this one value. */
export type DelegationEnd =
  /** Its child left its own record. That is the outcome, no matter how the child ended. */
  | { readonly kind: "reported"; readonly record: CompletionRecord }
  /** Its child ended by itself without a record. `how`: its exit, then the last lines of its standard error. */
  | { readonly kind: "crashed"; readonly how: string }
  /** Its launcher ended it. */
  | { readonly kind: "terminated"; readonly by: "task" | "backstop"; readonly reason: string }
  | {
      readonly kind: "terminated";
      readonly by: "deadline";
      readonly reason: string;
      readonly how: string;
    }
  /** Its child is gone, and neither its exit status nor its outcome is known. */
  | { readonly kind: "lost"; readonly why: string }
  /**
   * Its child may have left its own record, but it could not be read (`why`), so nothing is written over it. `reason`: why
   * its launcher ended it, if it did.
   */
  | { readonly kind: "unread"; readonly why: string; readonly reason?: string };

/** The complete detail for a child that the delegating task ended. */
const ENDED_BY_PARENT = "the parent ended this delegation";

/** What to record about a child's end; `undefined` if it is not known how it ended. */
export function reportOf(end: DelegationEnd, durationMs: number): Report | undefined {
  const byLauncher = (status: "crashed" | "terminated", detail: string): Report => ({
    status,
    durationMs,
    detail: cutDetail(detail),
    reportedBy: "launcher",
  });
  switch (end.kind) {
    case "reported":
      return end.record;
    case "crashed":
      return byLauncher("crashed", end.how);
    case "terminated":
      return byLauncher("terminated", end.by === "deadline" ? `${end.reason}\n${end.how}` : ENDED_BY_PARENT);
    case "lost":
    case "unread":
      return undefined;
    default:
      return end satisfies never;
  }
}

/**
 * Ends a child whose outcome is not posted, and records it as `terminated`. A child that had exited already keeps its
 * own record; if it left none, it is recorded as `crashed`. A record that cannot be read stays, and the operator gets one
 * line.
 *
 * @param own what happens to a record that the child writes while it is being ended. `replaced`: the child is in the
 *   middle of its task, so the launcher's record replaces it (API page, "A child ends with its parent"). `kept`: the
 *   child's task was over, so its record stays
 * @param why the reason, if there is more to say than that its parent ended it. The exit status is added
 */
export async function endUnposted(started: OwnChild, own: "replaced" | "kept", why?: string): Promise<void> {
  const { child, session } = started;
  const byItself = await hasExited(child);
  let left = await recordOf(started);
  await endChild(started);
  if (!left.ok || (own === "kept" && !left.value)) left = await recordOf(started);
  if (!left.ok) {
    const file = `completion.json of delegation ${child.delegationId}`;
    return session.diagnose(`${file} could not be read, so it stays as it is: ${left.fault}`);
  }
  if (!child.records.ok || left.value) return;
  const durationMs = durationOf(started);
  const report = reportOf(await unpostedEnd(child, byItself, why), durationMs);
  if (report) await record(started, report);
}

async function unpostedEnd(child: LaunchedChild, byItself: boolean, why?: string): Promise<DelegationEnd> {
  if (byItself) return { kind: "crashed", how: await howItEnded(child) };
  return why === undefined
    ? { kind: "terminated", by: "task", reason: ENDED_BY_PARENT }
    : { kind: "terminated", by: "deadline", reason: why, how: await howItEnded(child) };
}

/** Why a child did not accept its task. */
export interface NotTaken {
  /** A phrase to put after "it did not take its task: ", then what the child said about it, inside a fence. */
  readonly why: string;
  /** Its time ran out, so `why` is also the reason for ending it. */
  readonly isPastDeadline?: true;
}

/** Ends a child that did not accept its task, even if its door cannot be told so. */
export async function abandon(delegation: Delegation, { why, isPastDeadline }: NotTaken): Promise<void> {
  const { door, child } = delegation;
  try {
    door.ending(child.delegationId);
  } finally {
    const reason = isPastDeadline && why;
    await endUnposted(delegation, "replaced", reason).finally(() => child.release());
  }
  door.forget(child.delegationId);
}
