/** Closes a delegation: records its end, posts it, then tells its task (API page, "How the outcome arrives"). */

import { printable } from "../../printable.ts";
import { bareName } from "../../registry/artifact-name.ts";
import { describeExit } from "../launch/held-process.ts";
import type { LaunchedChild } from "../launch/outcome.ts";
import { type Delegation, type DelegationEnd, durationOf, record, reportOf } from "./child.ts";
import { type DelegationIdentity, notice, type Post, type Report } from "./completion.ts";
import type { CompletionDoor } from "./door.ts";
import { type Answer, type KeptAnswer, readAnswer } from "./result-file.ts";
import { traceClose } from "./trace.ts";
import { CUT_MARK, fenceUntrusted, sourceOf } from "./untrusted.ts";

/** A delegation that is over: its child has been reaped, and its record does not change any more. */
export interface ClosedDelegation {
  readonly identity: DelegationIdentity;
  readonly told: ToldEnd;
}

/** How a delegation ended, as far as its task is told. */
export type ToldEnd =
  | ({ readonly kind: "recorded"; readonly answer: Answer } & Pick<
      Report,
      "status" | "durationMs" | "detail"
    >)
  /** There is no readable `completion.json`. */
  | { readonly kind: "unknown"; readonly reason: string };

export async function closeDelegation(delegation: Delegation, end: DelegationEnd): Promise<ClosedDelegation> {
  const { session, child, since } = delegation;
  const report = reportOf(end, durationOf(delegation));
  const stands = await recordEnd(delegation, end, report);
  if (report && stands) {
    const told = await recorded(delegation, end, report);
    traceClose(session, child, since, report.status, reasonOf(end));
    return { identity: child, told };
  }
  const reason = await whyUnknown(child, end);
  // The trace needs no record to know that the launcher ended the child. The task is told only that there is none.
  const ended = end.kind === "terminated" || end.kind === "unread" ? end.reason : undefined;
  if (ended !== undefined) traceClose(session, child, since, "terminated", ended);
  else traceClose(session, child, since, "unknown", reason);
  return { identity: child, told: { kind: "unknown", reason } };
}

/**
 * Records the end and tells the door how to answer further completions. If the child's own report was not delivered, it
 * is delivered now. If the task or the backstop ended the child, the end is recorded but not posted.
 *
 * @returns whether there is a record of the end
 */
async function recordEnd(
  delegation: Delegation,
  end: DelegationEnd,
  report: Report | undefined,
): Promise<boolean> {
  const { session, door, child } = delegation;
  const { delegationId } = child;
  if (!report || (end.kind === "terminated" && end.by !== "deadline")) {
    const written = report !== undefined && (await record(delegation, report));
    door.forget(delegationId);
    return written;
  }
  // The door refused completions while the child was being ended. It has to accept this one.
  if (end.kind === "terminated") door.await(delegationId, () => {});
  const isDelivered = end.kind === "reported" && end.record.delivered;
  const written = isDelivered || (await record(delegation, report, postInProcess(door, session.id)));
  door.received(delegationId);
  return written || end.kind === "reported";
}

/** The launcher's post: to the same door as a child's, but within the process. */
function postInProcess(door: CompletionDoor, sessionId: string): Post {
  return async ({ delegationId }) => {
    const answer = door.receive({ addressedSession: sessionId, method: "SendMessage", delegationId });
    return "error" in answer
      ? { delivered: false, deliveryError: answer.error.message }
      : { delivered: true };
  };
}

async function recorded(
  { session, child }: Delegation,
  end: DelegationEnd,
  { status, durationMs, detail }: Report,
): Promise<ToldEnd> {
  // The record says that the parent ended it. The task is told the actual reason: no outcome came in time.
  const said = end.kind === "terminated" && end.by === "backstop" ? end.reason : detail;
  const { records, delegationId, secrets } = child;
  const runtime = session.directories.runtime.descriptor;
  const answer: Answer = records.ok
    ? await readAnswer(records.value.descriptor, { runtime, delegationId, secrets, clock: session.clock })
    : { kind: "none" };
  return { kind: "recorded", status, durationMs, detail: said, answer };
}

async function whyUnknown({ records, exited }: LaunchedChild, end: DelegationEnd): Promise<string> {
  const why = records.ok ? whyNone(end) : records.fault;
  const known = reasonOf(end) ?? describeExit(await exited);
  return `no record of how it ended can be read: ${why}; what its launcher saw: ${known}`;
}

function whyNone(end: DelegationEnd): string {
  if (end.kind === "lost") return "it left none";
  if (end.kind === "unread") return `its completion.json could not be read: ${end.why}`;
  return "its completion.json could not be written";
}

/** Why it ended this way, for the trace; `null` if the child reported its own end, or may have. */
function reasonOf(end: DelegationEnd): string | null {
  switch (end.kind) {
    case "reported":
      return null;
    case "crashed":
      return end.how.split("\n")[0] ?? end.how;
    case "terminated":
      return end.reason;
    case "lost":
      return end.why;
    case "unread":
      return end.reason ?? null;
    default:
      return end satisfies never;
  }
}

/** The block: one line from the runtime, then everything else inside one fence. */
export function outcomeBlock(identity: DelegationIdentity, ended: ToldEnd): string {
  const { delegationId, name, version } = identity;
  const bare = bareName(name);
  const status = ended.kind === "recorded" ? ended.status : "unknown";
  const body =
    ended.kind === "recorded"
      ? `${notice(identity, ended)}\n${result(identity, ended.answer)}`
      : ended.reason;
  const head = `[delegate-task] delegation ${delegationId} to ${bare}@${printable(version)} ended ${status}:`;
  return `${head}\n${fenceUntrusted(sourceOf(name), body)}`;
}

/** Joins the blocks of a round, given in id order, with a blank line between them. */
export function joinBlocks(blocks: readonly string[]): string {
  return blocks.join("\n\n");
}

function result({ delegationId }: DelegationIdentity, answer: Answer): string {
  switch (answer.kind) {
    case "none":
      return "result: none (the child wrote no result file)";
    case "unread":
      return `result: none (the child's result file could not be read: ${answer.reason})`;
    case "empty":
      return "result: (the child's result file is empty)";
    case "whole":
      return `result:\n${answer.text}`;
    case "cut":
      return `result:\n${answer.text}${CUT_MARK}\n[cut at ${answer.shownBytes} of ${answer.totalBytes} bytes; ${whereKept(delegationId, answer.kept)}]`;
    default:
      return answer satisfies never;
  }
}

function whereKept(delegationId: string, kept: KeptAnswer): string {
  const place = `delegations/${delegationId}.txt in the runtime directory`;
  switch (kept.kind) {
    case "whole":
      return `the whole answer is ${place}`;
    case "beginning":
      return `its first ${kept.bytes} bytes are ${place}`;
    case "not-kept":
      return `the whole answer could not be kept in the runtime directory: ${kept.reason}`;
    default:
      return kept satisfies never;
  }
}
