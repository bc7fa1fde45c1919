/** A completion: how a delegation's end is described in `completion.json` and to the parent's door. */

import { bareName, type Coordinates } from "../../registry/artifact-name.ts";
import { fault, ok, type Result } from "../../result.ts";
import { writeAll } from "../../sys/content.ts";
import type { Descriptor } from "../../sys/descriptors.ts";
import { describeError, type Errno, type Posix } from "../../sys/library.ts";
import type { Clock } from "../clock.ts";
import { redactSaid } from "../redaction.ts";
import type { Secret } from "../secret.ts";
import { openIfThere, readAtOnce, replaceFile } from "../tree/files.ts";
import type { HeldDirectory } from "../tree/held.ts";
import { parseJsonObject, stringIn } from "../wire.ts";
import { cutText } from "./untrusted.ts";

const STATUSES = ["ok", "error", "crashed", "terminated"] as const;

/** What the launcher itself knows about a delegation. Nothing that the child reports later can change it. */
export interface DelegationIdentity extends Coordinates {
  readonly delegationId: string;
  /** The child's session id, from its readiness line. */
  readonly sessionId: string;
  /** The child's work folder. */
  readonly workdir: Pick<HeldDirectory, "path">;
}

/** How a delegation ended, and who reports it. */
export interface Report {
  readonly status: (typeof STATUSES)[number];
  readonly durationMs: number;
  /** An absolute path, absent if the child left no result. For readers of the file; the parent does not open it. */
  readonly resultPath?: string | undefined;
  readonly detail?: string | undefined;
  readonly reportedBy: "child" | "launcher";
}

/** The result of the post. Neither field is set before the post was tried, or if there is nobody to post to. */
interface Delivery {
  readonly delivered: boolean;
  readonly deliveryError?: string | undefined;
}

export interface CompletionRecord extends Report, Delivery {}

/** The longest `detail`, in bytes. */
const MAX_DETAIL_BYTES = 2_000;

/** A detail as it is recorded, posted and shown. If it is too long, it is cut and marked. */
export function cutDetail(detail: string | undefined): string | undefined {
  return detail === undefined ? undefined : cutText(detail, MAX_DETAIL_BYTES);
}

/** A completion's text without the answer: the message of its post, and its block's body up to `result`. */
export function notice(
  identity: DelegationIdentity,
  { status, durationMs, detail }: Pick<Report, "status" | "durationMs" | "detail">,
): string {
  const lines = [
    "Delegated capsule finished.",
    `delegation_id: ${identity.delegationId}`,
    `capsule: ${bareName(identity.name)}@${identity.version}`,
    `session_id: ${identity.sessionId}`,
    `status: ${status}`,
    `duration_ms: ${durationMs}`,
    `workdir: ${identity.workdir.path}`,
  ];
  if (detail !== undefined) lines.push(`detail: ${indentFurtherLines(detail)}`);
  return lines.join("\n");
}

/** Indents further lines, so that no line of a detail looks like a field. */
function indentFurtherLines(text: string): string {
  return text.split(/\r\n|[\n\v\f\r\u0085\u2028\u2029]/).join("\n  ");
}

const FILE = "completion.json";
/** The longest file that counts as a record, in bytes. */
const MAX_RECORD_BYTES = 256 * 1024;

/** Writes the record and replaces any earlier one. The file is indented JSON and a newline, without absent keys. */
export function writeRecord(
  directory: Descriptor,
  identity: DelegationIdentity,
  record: CompletionRecord,
): Promise<Posix<void>> {
  const fields = {
    delegation_id: identity.delegationId,
    capsule_name: bareName(identity.name),
    capsule_version: identity.version,
    session_id: identity.sessionId,
    status: record.status,
    result_path: record.resultPath,
    workdir: identity.workdir.path,
    duration_ms: record.durationMs,
    detail: record.detail,
    reported_by: record.reportedBy,
    delivered: record.delivered,
    delivery_error: record.deliveryError,
  };
  const bytes = Buffer.from(`${JSON.stringify(fields, null, 2)}\n`);
  return replaceFile(directory, FILE, (descriptor) => writeAll(descriptor, bytes));
}

/**
 * Reads the record of this delegation. A record that names another delegation, another session or an unknown status
 * counts as none. If its duration is not valid, the launcher's own measure, `durationMs`, replaces it.
 *
 * @param secrets taken out of the record's texts
 * @param clock for the wait if no descriptor is free: 2 s at most
 * @returns `undefined` if there is no valid record; as a fault, why it is not known whether there is one
 */
export async function readRecord(
  directory: Descriptor,
  identity: DelegationIdentity,
  durationMs: number,
  secrets: readonly Secret[],
  clock: Clock,
): Promise<Result<CompletionRecord | undefined, string>> {
  const text = await readText(directory, clock);
  return text.ok ? ok(parseRecord(text.value, identity, durationMs, secrets)) : text;
}

function parseRecord(
  text: string,
  identity: DelegationIdentity,
  durationMs: number,
  secrets: readonly Secret[],
): CompletionRecord | undefined {
  const fields = parseJsonObject(text);
  if (fields?.delegation_id !== identity.delegationId || fields.session_id !== identity.sessionId) {
    return undefined;
  }
  const status = STATUSES.find((known) => known === fields.status);
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
    // Whatever it says: its launcher has written none yet, and reads its own words nowhere.
    reportedBy: "child",
    delivered: fields.delivered === true,
    deliveryError: said(fields.delivery_error),
  };
}

/** Empty if there is no such file, or a longer one than any record. */
async function readText(directory: Descriptor, clock: Clock): Promise<Result<string, string>> {
  const file = await openIfThere(directory, [FILE], clock);
  if (!file.ok || !file.value) return file.ok ? ok("") : file;
  try {
    const bytes = readAtOnce(file.value, MAX_RECORD_BYTES + 1);
    if (!bytes.ok) return fault(describeError(bytes.fault));
    return ok(bytes.value.length > MAX_RECORD_BYTES ? "" : Buffer.from(bytes.value).toString("utf8"));
  } finally {
    file.value.close();
  }
}

function isDuration(value: unknown): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
}

/** Tries to deliver a report to the delegating task. */
export type Post = (identity: DelegationIdentity, report: Report) => Promise<Delivery>;

/** What to report, and where its record goes. */
interface Reporting {
  readonly identity: DelegationIdentity;
  readonly report: Report;
  /** The child's records directory. */
  readonly records: Descriptor;
  /** Left out if the outcome is only recorded, not posted. */
  readonly post?: Post | undefined;
  /** Writes one line for the operator. */
  readonly diagnose: (line: string) => void;
}

/**
 * Writes the record, then posts, then writes the record with the result of the post. Until the post is done, the record
 * has `delivered: false` and no error. If the record cannot be written, the operator gets one line about it, and the
 * post is still made.
 *
 * @returns the result of the post, and whether there is a record now
 */
export async function reportCompletion(
  reporting: Reporting,
): Promise<{ readonly delivery: Delivery; readonly written: boolean }> {
  const { identity, records, post, diagnose } = reporting;
  const report = { ...reporting.report, detail: cutDetail(reporting.report.detail) };
  const about = `of delegation ${identity.delegationId}`;
  /** Replaces the result of an earlier post. A long error from the other door is cut, like a detail. */
  const write = (delivery: Delivery) =>
    writeRecord(records, identity, {
      ...report,
      ...delivery,
      deliveryError: cutDetail(delivery.deliveryError),
    });
  const complain = (errno: Errno) =>
    diagnose(`${FILE} ${about} could not be written: ${describeError(errno)}`);
  const first = await write({ delivered: false });
  if (!first.ok) complain(first.fault);
  if (!post) return { delivery: { delivered: false }, written: first.ok };
  const delivery = await post(identity, report);
  const last = await write(delivery);
  if (!last.ok && first.ok) complain(last.fault);
  if (!delivery.delivered) diagnose(`the completion ${about} was not delivered: ${delivery.deliveryError}`);
  return { delivery, written: first.ok || last.ok };
}
