/**
 * Tells whether a pid still belongs to the same process. Pids are reused, so a process is identified by its pid and its
 * start time, the start token.
 */

import { closeSync, openSync, readdirSync, readSync } from "node:fs";
import { isSystemError } from "../os-error.ts";
import { darwinStartTime, probe } from "../sys/process.ts";

/** What the operating system says about a pid. */
type ProcessReading =
  /** No process has it, or only a zombie, which has no running thread left. */
  | { readonly held: false }
  /** A process has it. `startToken` is absent if it could not be read. */
  | { readonly held: true; readonly startToken: string | undefined };

/** A process as a running record names it. */
export interface ProcessIdentity {
  /** 0 to 2^32-1. */
  readonly pid: number;
  /** Empty if the record's writer could not read it. An empty token matches no process. */
  readonly startToken: string;
}

const GONE: ProcessReading = { held: false };
const MAX_PID = 2 ** 31 - 1;

/** Whether any process could have this pid. */
export function isPossible(pid: number): boolean {
  return pid > 0 && pid <= MAX_PID;
}

/**
 * Whether the pid still belongs to the recorded process. `unverified`: the pid is in use and its start token cannot be
 * read, so it may be the same process.
 */
export function identify({ pid, startToken }: ProcessIdentity): "alive" | "unverified" | "gone" {
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
    // `stat` describes the main thread, which may end before the others.
    return isEnded && !hasRunningThread(pid) ? GONE : { held: true, startToken };
  } catch {
    // Gone, or hidden from this user.
    return isFree(pid) ? GONE : { held: true, startToken: undefined };
  }
}

/** Whether no process has the pid. EPERM means that another user's process has it. */
function isFree(pid: number): boolean {
  const probed = probe(pid);
  return !probed.ok && probed.fault === "ESRCH";
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

/** @throws the file system's error if the threads cannot be listed */
function hasRunningThread(pid: number): boolean {
  return readdirSync(`/proc/${pid}/task`).some((thread) => {
    try {
      return !parseProcStat(readStat(`/proc/${pid}/task/${thread}/stat`)).isEnded;
    } catch (error) {
      // These two mean that it ended meanwhile. A thread that cannot be read for another reason counts as running.
      return !(isSystemError(error) && (error.code === "ENOENT" || error.code === "ESRCH"));
    }
  });
}

/** One thread, as its `stat` line describes it. */
interface ThreadStat {
  readonly isEnded: boolean;
  readonly startToken: string | undefined;
}

const STATE_AND_START = /^(\S+)(?: \S+){18} (\S+)/;

/** Field 3 is the state, field 22 the start time; the name in brackets before them may contain anything. */
export function parseProcStat(text: string): ThreadStat {
  const [, state, startToken] = STATE_AND_START.exec(text.slice(text.lastIndexOf(")") + 2)) ?? [];
  return { isEnded: state === "Z" || state === "X" || state === "x", startToken };
}

function readDarwin(pid: number): ProcessReading {
  return isFree(pid) ? GONE : darwinReading(darwinStartTime(pid));
}

/** What `darwinStartTime` says of a pid that answers a probe. */
export function darwinReading(started: ReturnType<typeof darwinStartTime>): ProcessReading {
  // One that has no process information is a zombie.
  if (!started.ok) return started.fault === "ESRCH" ? GONE : { held: true, startToken: undefined };
  const { seconds, microseconds } = started.value;
  return { held: true, startToken: `${seconds}.${String(microseconds).padStart(6, "0")}` };
}
