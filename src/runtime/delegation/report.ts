/** Reporting a completion: the record first, then the post, then the record with what the post did. */

import type { Descriptor } from "../../sys/descriptors.ts";
import { describeError, type Errno, type Posix } from "../../sys/library.ts";
import type { Clock } from "../clock.ts";
import type { SpawnerHandle } from "../contract/environment.ts";
import { callDoor, userMessage } from "./a2a.ts";
import { cutDetail, type Delivery, type Report } from "./completion.ts";
import {
  ADDRESSEE_HEADER,
  COMPLETION_ORIGIN,
  type CompletionDoor,
  DELEGATION_HEADER,
  ORIGIN_HEADER,
} from "./door.ts";
import type { DelegationIdentity } from "./identity.ts";
import { notice } from "./outcome-block.ts";
import { writeRecord } from "./record-file.ts";

/** Tries to deliver a report to the delegating task. */
export type Post = (identity: DelegationIdentity, report: Report) => Promise<Delivery>;

/** What to report, and where its record goes. */
export interface Reporting {
  readonly identity: DelegationIdentity;
  readonly report: Report;
  /** The child's records directory. */
  readonly records: Descriptor;
  /** Left out if the outcome is only recorded, not posted. */
  readonly post?: Post | undefined;
  /** Writes one line for the operator. */
  readonly diagnose: (line: string) => void;
}

/** The result of the post, and whether there is a record now. */
export interface ReportResult {
  readonly delivery: Delivery;
  readonly written: boolean;
}

/**
 * Writes the record, then posts. Until the post is done, the record has `delivered: false` and no error. If the record
 * cannot be written, the operator gets one line about it, and the post is still made.
 */
export async function reportCompletion(reporting: Reporting): Promise<ReportResult> {
  const { identity, post, diagnose } = reporting;
  const report = { ...reporting.report, detail: cutDetail(reporting.report.detail) };
  const first = await record(reporting, report, { delivered: false });
  if (!first.ok) diagnose(unwritten(identity, first.fault));
  if (!post) return { delivery: { delivered: false }, written: first.ok };
  const delivery = await post(identity, report);
  const last = await record(reporting, report, delivery);
  if (!last.ok && first.ok) diagnose(unwritten(identity, last.fault));
  if (!delivery.delivered) {
    diagnose(
      `the completion of delegation ${identity.delegationId} was not delivered: ${delivery.deliveryError}`,
    );
  }
  return { delivery, written: first.ok || last.ok };
}

/** Replaces the result of an earlier post. A long error from the other door is cut, like a detail. */
function record({ identity, records }: Reporting, report: Report, delivery: Delivery): Promise<Posix<void>> {
  const deliveryError = cutDetail(delivery.deliveryError);
  return writeRecord(records, identity, { ...report, ...delivery, deliveryError });
}

function unwritten({ delegationId }: DelegationIdentity, errno: Errno): string {
  return `completion.json of delegation ${delegationId} could not be written: ${describeError(errno)}`;
}

/** A child's post: one `SendMessage` to its parent's door, without retries. The answer's shape is not checked. */
export function postToDoor(handle: SpawnerHandle, clock: Clock): Post | undefined {
  const { url, delegationId, sessionId } = handle;
  if (!url) return undefined;
  return async (identity, report) => {
    const result = report.resultPath === undefined ? "" : `\nresult_path: ${report.resultPath}`;
    const reply = await callDoor(
      {
        door: url,
        id: delegationId,
        method: "SendMessage",
        params: userMessage(`msg_completion_${delegationId}`, `${notice(identity, report)}${result}`),
        headers: {
          [ORIGIN_HEADER]: COMPLETION_ORIGIN,
          [DELEGATION_HEADER]: delegationId,
          [ADDRESSEE_HEADER]: sessionId,
        },
      },
      clock,
    );
    switch (reply.kind) {
      case "error":
        return { delivered: false, deliveryError: reply.message };
      case "failed":
        return { delivered: false, deliveryError: reply.said ?? reply.reason };
      case "result":
      case "unreadable":
        return { delivered: true };
      default:
        return reply satisfies never;
    }
  };
}

/** The launcher's post: to the same door, but within the process. */
export function postInProcess(door: CompletionDoor, sessionId: string): Post {
  return async ({ delegationId }) => {
    const answer = door.receive({ addressedSession: sessionId, method: "SendMessage", delegationId });
    return "error" in answer
      ? { delivered: false, deliveryError: answer.error.message }
      : { delivered: true };
  };
}
