/**
 * Is that pid still that process? A pid alone is no identity: it is used again. A process is known by its pid and the
 * moment it started, the start token.
 */

import { closeSync, openSync, readdirSync, readSync } from "node:fs";
import { isSystemError } from "../os-error.ts";
import { darwinStartTime, ESRCH, probe } from "../sys/process.ts";

/** What the operating system says of a pid. */
export type ProcessReading =
  /** Nothing holds it, or a zombie does: a process of which no thread is left. */
  | { readonly held: false }
  /** Held; `startToken` is absent where it could not be read. */
  | { readonly held: true; readonly startToken: string | undefined };

/** A process as a running record names it. */
export interface ProcessIdentity {
  /** 0 to 2^32-1. */
  readonly pid: number;
  /** Empty in a record that could not tell: that differs from every token. */
  readonly startToken: string;
}

/** `unverified`: the pid is held and its start token cannot be read, so the holder may be that process. */
export type IdentityVerdict = "alive" | "unverified" | "gone";

const GONE: ProcessReading = { held: false };
const MAX_PID = 2 ** 31 - 1;

/** Whether any process could have this pid. */
export function isPossible(pid: number): boolean {
  return pid > 0 && pid <= MAX_PID;
}

/** Whether the pid is still held by the process that the record names. */
export function identify({ pid, startToken }: ProcessIdentity): IdentityVerdict {
  if (!isPossible(pid)) return "gone";
  const reading = readProcess(pid);
  if (!reading.held) return "gone";
  if (reading.startToken === undefined) return "unverified";
  return reading.startToken === startToken ? "alive" : "gone";
}

export function readProcess(pid: number): ProcessReading {
  return process.platform === "darwin" ? readDarwin(pid) : readLinux(pid);
}

function readLinux(pid: number): ProcessReading {
  try {
    const { isEnded, startToken } = parseProcStat(readStat(`/proc/${pid}/stat`));
    // The line is that of the main thread, which may end before the others do.
    return isEnded && !hasRunningThread(pid) ? GONE : { held: true, startToken };
  } catch {
    // Gone, or hidden from this user. EPERM is another user's process: held all the same.
    return probe(pid) === ESRCH ? GONE : { held: true, startToken: undefined };
  }
}

/** Longer than any `/proc/<pid>/stat`. */
const statRoom = Buffer.alloc(4096);

/** @throws the file system's error */
function readStat(path: string): string {
  const fd = openSync(path, "r");
  try {
    return statRoom.toString("latin1", 0, readSync(fd, statRoom));
  } finally {
    closeSync(fd);
  }
}

/** @throws the file system's error where that cannot be told */
function hasRunningThread(pid: number): boolean {
  return readdirSync(`/proc/${pid}/task`).some((thread) => {
    try {
      return !parseProcStat(readStat(`/proc/${pid}/task/${thread}/stat`)).isEnded;
    } catch (error) {
      // It ended in between. What cannot be told for another reason counts.
      return !(isSystemError(error) && (error.code === "ENOENT" || error.code === "ESRCH"));
    }
  });
}

/** One thread, as its line of `stat` has it. */
interface ThreadStat {
  readonly isEnded: boolean;
  readonly startToken: string | undefined;
}

const STATE_AND_START = /^(\S+)(?: \S+){18} (\S+)/;

/** Field 3 is the state, field 22 the start time; the name before them, in brackets, may hold anything. */
export function parseProcStat(text: string): ThreadStat {
  const [, state, startToken] = STATE_AND_START.exec(text.slice(text.lastIndexOf(")") + 2)) ?? [];
  return { isEnded: state === "Z" || state === "X" || state === "x", startToken };
}

function readDarwin(pid: number): ProcessReading {
  return probe(pid) === ESRCH ? GONE : darwinReading(darwinStartTime(pid));
}

/** What `darwinStartTime` says of a pid that answers a probe. */
export function darwinReading(started: ReturnType<typeof darwinStartTime>): ProcessReading {
  // It has no information: a zombie.
  if (started === ESRCH) return GONE;
  if (typeof started === "number") return { held: true, startToken: undefined };
  return { held: true, startToken: `${started.seconds}.${String(started.microseconds).padStart(6, "0")}` };
}
