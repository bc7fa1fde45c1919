/** Reporting a completion: the record first, then the post, then the record with what the post did. */

import type { Clock } from "../clock.ts";
import type { SpawnerHandle } from "../contract/spawner-handle.ts";
import { type Descriptor, describeError, type Errno, type Posix } from "../posix.ts";
import { call, userMessage } from "./a2a.ts";
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

/** Tries to bring a report to the delegating task. */
export type Post = (identity: DelegationIdentity, report: Report) => Promise<Delivery>;

/** What is being reported, and where its record is. */
export interface Reporting {
  readonly identity: DelegationIdentity;
  readonly report: Report;
  /** The child's records directory. */
  readonly records: Descriptor;
  /** Left out where the outcome is recorded and posted to nobody. */
  readonly post?: Post | undefined;
  /** One line for whoever watches. */
  readonly diagnose: (line: string) => void;
}

/**
 * Records and posts. Between the two the record reads `delivered: false` without an error. A record that cannot be
 * written is one line for the operator, and the post is made nevertheless.
 */
export async function reportCompletion(reporting: Reporting): Promise<Delivery> {
  const { identity, post, diagnose } = reporting;
  const report = { ...reporting.report, detail: cutDetail(reporting.report.detail) };
  const first = await record(reporting, report, { delivered: false });
  if (!first.ok) diagnose(unwritten(identity, first.fault));
  if (!post) return { delivered: false };
  const delivery = await post(identity, report);
  const last = await record(reporting, report, delivery);
  if (!last.ok && first.ok) diagnose(unwritten(identity, last.fault));
  if (!delivery.delivered) {
    diagnose(
      `the completion of delegation ${identity.delegationId} was not delivered: ${delivery.deliveryError}`,
    );
  }
  return delivery;
}

/** Replaces the result of an earlier post. What another's door answered is cut as a detail is. */
function record({ identity, records }: Reporting, report: Report, delivery: Delivery): Promise<Posix<void>> {
  const deliveryError = cutDetail(delivery.deliveryError);
  return writeRecord(records, identity, { ...report, ...delivery, deliveryError });
}

function unwritten({ delegationId }: DelegationIdentity, errno: Errno): string {
  return `completion.json of delegation ${delegationId} could not be written: ${describeError(errno)}`;
}

/** A child's post: one `SendMessage` to its parent's door, made once. The answer's shape is not looked at. */
export function postToDoor(handle: SpawnerHandle, clock: Clock): Post | undefined {
  const { url, delegationId, sessionId } = handle;
  if (!url) return undefined;
  return async (identity, report) => {
    const result = report.resultPath === undefined ? "" : `\nresult_path: ${report.resultPath}`;
    const reply = await call(
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

/** The launcher's post: through the same door, in the process. */
export function postInProcess(door: CompletionDoor, sessionId: string): Post {
  return async ({ delegationId }) => {
    const answer = door.receive({ addressedSession: sessionId, method: "SendMessage", delegationId });
    return "error" in answer
      ? { delivered: false, deliveryError: answer.error.message }
      : { delivered: true };
  };
}
