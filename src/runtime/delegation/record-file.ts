/** Reads and writes `completion.json` in a records directory, which is given as an open descriptor. */

import { writeAll } from "../../sys/content.ts";
import type { Descriptor } from "../../sys/descriptors.ts";
import type { Posix } from "../../sys/library.ts";
import type { Secret } from "../secret.ts";
import { openRegularFile, readAtOnce, replaceFile } from "../tree/files.ts";
import { type CompletionRecord, formatRecord, parseRecord } from "./completion.ts";
import type { DelegationIdentity } from "./identity.ts";

const RECORD = "completion.json";
/** The longest file that counts as a record, in bytes. */
const MAX_RECORD_BYTES = 256 * 1024;

/** The record in the directory, if it can be read and belongs to this delegation. Secrets are taken out. */
export function readRecord(
  directory: Descriptor,
  identity: DelegationIdentity,
  durationMs: number,
  secrets: readonly Secret[],
): CompletionRecord | undefined {
  const file = openRegularFile(directory, [RECORD]);
  if (!file.ok) return undefined;
  const bytes = readAtOnce(file.value, MAX_RECORD_BYTES + 1);
  file.value.close();
  if (!bytes.ok || bytes.value.length > MAX_RECORD_BYTES) return undefined;
  return parseRecord(Buffer.from(bytes.value).toString("utf8"), identity, durationMs, secrets);
}

/** Writes the record and replaces any earlier one. */
export function writeRecord(
  directory: Descriptor,
  identity: DelegationIdentity,
  record: CompletionRecord,
): Promise<Posix<void>> {
  const bytes = Buffer.from(formatRecord(identity, record));
  return replaceFile(directory, RECORD, (descriptor) => writeAll(descriptor, bytes));
}
