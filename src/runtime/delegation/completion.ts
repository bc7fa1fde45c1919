/** A completion: how a delegation's end is described in `completion.json` and to the parent's door. */

import { bareName } from "../../registry/artifact-name.ts";
import { redactSaid } from "../redaction.ts";
import type { Secret } from "../secret.ts";
import { parseJsonObject, stringIn } from "../wire.ts";
import type { DelegationIdentity } from "./identity.ts";
import { cutText } from "./utf8.ts";

export const COMPLETION_STATUSES = ["ok", "error", "crashed", "terminated"] as const;
export type CompletionStatus = (typeof COMPLETION_STATUSES)[number];

/** The longest `detail`, in bytes. A longer one is cut and marked. */
const MAX_DETAIL_BYTES = 2_000;

/** How a delegation ended, and who reports it. */
export interface Report {
  readonly status: CompletionStatus;
  readonly durationMs: number;
  /** An absolute path, absent if the child left no result. For readers of the file; the parent does not open it. */
  readonly resultPath?: string | undefined;
  readonly detail?: string | undefined;
  readonly reportedBy: "child" | "launcher";
}

/** The result of the post. Neither field is set before the post was tried, or if there is nobody to post to. */
export interface Delivery {
  readonly delivered: boolean;
  readonly deliveryError?: string | undefined;
}

export interface CompletionRecord extends Report, Delivery {}

/** The text of the record's file: indented JSON and a newline, without absent keys. */
export function formatRecord(identity: DelegationIdentity, record: CompletionRecord): string {
  const { detail, resultPath, deliveryError } = record;
  const fields = {
    delegation_id: identity.delegationId,
    capsule_name: bareName(identity.name),
    capsule_version: identity.version,
    session_id: identity.sessionId,
    status: record.status,
    ...(resultPath !== undefined && { result_path: resultPath }),
    workdir: identity.workdir,
    duration_ms: record.durationMs,
    ...(detail !== undefined && { detail }),
    reported_by: record.reportedBy,
    delivered: record.delivered,
    ...(deliveryError !== undefined && { delivery_error: deliveryError }),
  };
  return `${JSON.stringify(fields, null, 2)}\n`;
}

/**
 * Reads the record of this delegation. A record that names another delegation, another session or an unknown status
 * counts as unreadable. If its duration is not valid, the launcher's own measure, `durationMs`, replaces it.
 *
 * @param secrets taken out of the record's texts
 */
export function parseRecord(
  text: string,
  identity: DelegationIdentity,
  durationMs: number,
  secrets: readonly Secret[],
): CompletionRecord | undefined {
  const fields = parseJsonObject(text);
  if (!fields) return undefined;
  if (fields.delegation_id !== identity.delegationId || fields.session_id !== identity.sessionId)
    return undefined;
  const status = COMPLETION_STATUSES.find((known) => known === fields.status);
  if (!status) return undefined;
  const said = (value: unknown) => {
    const words = stringIn(value);
    return words === undefined ? undefined : redactSaid(words, secrets);
  };
  return {
    status,
    durationMs: isDuration(fields.duration_ms) ? fields.duration_ms : durationMs,
    resultPath: said(fields.result_path),
    detail: cutDetail(said(fields.detail)),
    reportedBy: fields.reported_by === "launcher" ? "launcher" : "child",
    delivered: fields.delivered === true,
    deliveryError: said(fields.delivery_error),
  };
}

/** A detail as it is recorded, posted and shown. If it is too long, it is cut and marked. */
export function cutDetail(detail: string | undefined): string | undefined {
  return detail === undefined ? undefined : cutText(detail, MAX_DETAIL_BYTES);
}

function isDuration(value: unknown): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
}
