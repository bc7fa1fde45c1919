/** `completion.json` in a records directory that is held by descriptor. */

import { close, type Descriptor, type Posix } from "../posix.ts";
import { type CompletionRecord, formatRecord, parseRecord } from "./completion.ts";
import { openRegularFile, readUpTo, replaceFile, writeAll } from "./held-files.ts";
import type { DelegationIdentity } from "./identity.ts";

const RECORD = "completion.json";
/** A longer file is no record, in bytes. */
const MAX_RECORD_BYTES = 256 * 1024;

/** The record in the directory, where there is a readable one of this delegation. */
export function readRecord(
  directory: Descriptor,
  identity: DelegationIdentity,
  durationMs: number,
): CompletionRecord | undefined {
  const file = openRegularFile(directory, RECORD);
  if (!file) return undefined;
  const bytes = readUpTo(file.descriptor, MAX_RECORD_BYTES + 1);
  close(file.descriptor);
  if (!bytes.ok || bytes.value.length > MAX_RECORD_BYTES) return undefined;
  return parseRecord(Buffer.from(bytes.value).toString("utf8"), identity, durationMs);
}

/** Writes the record over whatever is there. */
export function writeRecord(
  directory: Descriptor,
  identity: DelegationIdentity,
  record: CompletionRecord,
): Promise<Posix<void>> {
  const bytes = Buffer.from(formatRecord(identity, record));
  return replaceFile(directory, RECORD, (descriptor) => writeAll(descriptor, bytes));
}
