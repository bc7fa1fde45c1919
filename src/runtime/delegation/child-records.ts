/** A child's records directory, in its parent's hands: checked once, then held by descriptor. */

import { join } from "node:path";
import {
  close,
  type Descriptor,
  describeError,
  encodeName,
  openDirectoryAt,
  openDirectoryPath,
  type Posix,
  statusOf,
} from "../posix.ts";
import { fault, ok, type Result } from "../result.ts";
import { type HeldDirectory, holdDirectory } from "../tree/held.ts";
import { type CompletionRecord, formatRecord, parseRecord } from "./completion.ts";
import { openRegularFile, readUpTo, replaceFile, writeAll } from "./held-files.ts";
import type { DelegationIdentity } from "./identity.ts";

const RECORD = "completion.json";
/** A longer file is no record, in bytes. */
const MAX_RECORD_BYTES = 256 * 1024;

/** Whose directory it must be. */
export interface ExpectedRecords {
  /** The user's home, resolved. */
  readonly home: string;
  readonly childSessionId: string;
  readonly parentSessionId: string;
}

/**
 * Takes hold of the directory that a child reported (`records_dir`). It must lie under `~/.murmur/records`, be the
 * child's own session's, and belong to this user; beneath the home no link is followed.
 *
 * The fault is a phrase that follows "its records directory ".
 */
export function holdChildRecords(
  reported: string | undefined,
  expected: ExpectedRecords,
): Result<HeldDirectory, string> {
  if (reported === undefined) return fault("was not named on its readiness line");
  const root = join(expected.home, ".murmur", "records");
  if (!reported.startsWith(`${root}/`)) return fault(`does not lie under ${root}`);
  const names = reported
    .slice(expected.home.length)
    .split("/")
    .filter((name) => name !== "");
  if (names.some((name) => name === "." || name === "..")) return fault("is not a plain path");
  if (names.at(-1) !== expected.childSessionId || expected.childSessionId === expected.parentSessionId) {
    return fault("does not end in its own session id");
  }
  const opened = openBeneath(expected.home, names);
  if (!opened.ok) return fault(`cannot be opened: ${describeError(opened.fault)}`);
  const status = statusOf(opened.value);
  if (status.ok && status.value.owner === process.geteuid?.())
    return ok(holdDirectory(reported, opened.value));
  close(opened.value);
  return fault("does not belong to this user");
}

function openBeneath(home: string, names: readonly string[]): Posix<Descriptor> {
  let at = openDirectoryPath(home);
  for (const name of names) {
    if (!at.ok) return at;
    const next = openDirectoryAt(at.value, encodeName(name));
    close(at.value);
    at = next;
  }
  return at;
}

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
