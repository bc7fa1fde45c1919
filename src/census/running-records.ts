/** Reads `~/.murmur/running`: one JSON record per running capsule. The daemon never writes there. */

import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readdirSync,
  readSync,
  statSync,
} from "node:fs";
import { dirname } from "node:path";
import { parseJson } from "../json.ts";
import { describeOsError, isSystemError } from "../os-error.ts";
import type { ProcessIdentity } from "./process-identity.ts";

/** The part of a record that the census needs. Tokens in the record are dropped right after parsing. */
export interface RunningRecord extends ProcessIdentity {
  readonly sessionId: string;
}

const MAX_RECORD_BYTES = 1024 * 1024;
const ENDING = Buffer.from(".json");

/**
 * The records there are, and how many `.json` entries are none: not regular, too large, unparsable, or written by an older
 * `mur`. `fault` says why the directory exists and cannot be listed: the path and the OS error. It pauses between records,
 * of which there may be very many.
 */
export function* readRunningRecords(directory: string) {
  let names: Buffer[];
  try {
    // As bytes: a file whose name is not UTF-8 cannot be opened by its name as text.
    names = readdirSync(directory, { encoding: "buffer" });
  } catch (error) {
    // A missing directory is a host running nothing.
    if (isSystemError(error) && error.code === "ENOENT" && !isBehindBrokenLink(directory)) {
      return { ok: true as const, records: [], unreadable: 0 };
    }
    return { ok: false as const, fault: `${directory}: ${describeOsError(error)}` };
  }
  const buffer = Buffer.allocUnsafe(MAX_RECORD_BYTES + 1);
  const records: RunningRecord[] = [];
  let unreadable = 0;
  const parent = Buffer.from(`${directory}/`);
  for (const name of names) {
    if (!name.subarray(-ENDING.length).equals(ENDING)) continue;
    const record = readRecord(Buffer.concat([parent, name]), buffer);
    if (record) records.push(record);
    else unreadable++;
    yield;
  }
  return { ok: true as const, records, unreadable };
}

/**
 * Whether the path, or its nearest existing parent, is a broken symbolic link. Then the directory is not missing: it
 * cannot be listed, and that is a fault.
 */
function isBehindBrokenLink(path: string): boolean {
  let at = path;
  // The root has one.
  while (!lstatSync(at, { throwIfNoEntry: false })) at = dirname(at);
  return !statSync(at, { throwIfNoEntry: false });
}

/** Follows no link and never blocks: a FIFO with such a name must not hold up the start. */
const OPEN_FLAGS = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW;

function readRecord(path: Buffer, buffer: Buffer): RunningRecord | undefined {
  let fd: number | undefined;
  try {
    fd = openSync(path, OPEN_FLAGS);
    const stat = fstatSync(fd);
    if (!stat.isFile()) return undefined;
    let length = 0;
    // Stopping at the known size saves a read at the end of the file. What is appended meanwhile is not read.
    while (length < Math.min(stat.size, buffer.length)) {
      const count = readSync(fd, buffer, length, buffer.length - length, null);
      if (count === 0) break;
      length += count;
    }
    if (length > MAX_RECORD_BYTES) return undefined;
    return parseRunningRecord(buffer.subarray(0, length));
  } catch {
    return undefined;
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
}

/** A byte order mark stays in the text, and is refused as JSON. */
const UTF8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** The record in the bytes of one file, or `undefined` if a key is missing, malformed or of the wrong type. */
export function parseRunningRecord(bytes: Uint8Array): RunningRecord | undefined {
  let value: unknown;
  try {
    value = parseJson(UTF8.decode(bytes));
  } catch {
    return undefined;
  }
  if (!isObject(value)) return undefined;
  for (const [key, isWellFormed] of KEYS) if (!isWellFormed(value[key])) return undefined;
  return {
    sessionId: value.session_id as string,
    pid: value.pid as number,
    startToken: value.process_start as string,
  };
}

type Check = (value: unknown) => boolean;

const isText: Check = (value) => typeof value === "string";
const isPid: Check = (value) => Number.isInteger(value) && Number(value) >= 0 && Number(value) <= 0xffffffff;
const isLauncher: Check = (value) => isObject(value) && isPid(value.pid) && isText(value.process_start);

const isAbsentOr =
  (isWellFormed: Check): Check =>
  (value) =>
    value === undefined || value === null || isWellFormed(value);

const KEYS: readonly (readonly [string, Check])[] = [
  ["session_id", (value) => isText(value) && /^[A-Za-z0-9_.:-]{1,256}$/.test(String(value))],
  ["process_start", isText],
  ["capsule_name", isText],
  ["capsule_version", isText],
  ["workdir", isText],
  ["started_at", isText],
  ["pid", isPid],
  ["outlives_launcher", (value) => typeof value === "boolean"],
  ["url", isAbsentOr(isText)],
  ["door_token", isAbsentOr(isText)],
  ["credentials", isAbsentOr((value) => isObject(value) && Object.values(value).every(isText))],
  ["formation_id", isAbsentOr((value) => isText(value) && /^frm_[0-9a-f]{32}$/.test(String(value)))],
  ["formation_launcher", isAbsentOr(isLauncher)],
];

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
