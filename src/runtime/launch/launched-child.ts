/** From a process that was started to a child that is ready. */

import { join, resolve } from "node:path";
import { printable } from "../../printable.ts";
import { fault, ok, type Result } from "../../result.ts";
import { close, type Descriptor } from "../../sys/descriptors.ts";
import { encodeName } from "../../sys/entries.ts";
import { describeError } from "../../sys/library.ts";
import { statusOf } from "../../sys/status.ts";
import { unlessAborted, within } from "../clock.ts";
import { parseReadiness, type Readiness } from "../contract/readiness.ts";
import type { ChildDirectory } from "../directories.ts";
import { redactSaid } from "../redaction.ts";
import type { Secret } from "../secret.ts";
import type { RegisteredSession } from "../session/session.ts";
import type { WorkdirSnapshot } from "../snapshot/account.ts";
import { NO_DESCRIPTOR } from "../tree/files.ts";
import { type HeldDirectory, holdDirectory, openDescendant } from "../tree/held.ts";
import { NO_DIRECTORY } from "../tree/remove.ts";
import type { ChildProcess } from "./child-process.ts";
import { describeExit } from "./held-process.ts";
import {
  type ChildRecords,
  canceled,
  failed,
  type LaunchedChild,
  type LaunchFailure,
  type LaunchFailureCause,
  type LaunchRequest,
} from "./outcome.ts";

/** The time from starting the child process to its first line. */
const LAUNCH_BOUND_MS = 180_000;
/** How much earlier the end of standard output may be seen than the end of the process. */
const EXIT_FOLLOWS_MS = 5_000;

/** A process that was started, in its folder. It may become ready. */
export interface Started {
  readonly session: RegisteredSession;
  readonly asked: LaunchRequest;
  readonly approval: Secret;
  readonly folder: ChildDirectory;
  readonly process: ChildProcess;
  readonly delegationId: string;
  readonly copy: WorkdirSnapshot | undefined;
}

/** Why a process that was started does not become ready. `sessionId`: its own, if it reported one. */
export type Unready = Pick<LaunchFailure, "cause" | "message"> & { readonly sessionId?: string | undefined };

/** Returns what the child's first line says, or why there is no valid line. */
export async function awaitReadiness(started: Started): Promise<Result<Readiness, Unready>> {
  const { session, asked, approval, folder, process, delegationId, copy } = started;
  const no = (cause: LaunchFailureCause, why: string, sessionId?: string) =>
    fault({ ...failed(cause, asked, why).failure, sessionId });
  const { clock } = session;
  const first = await within(clock, LAUNCH_BOUND_MS, unlessAborted(asked.signal, process.firstLine));
  if (first === "late") {
    return no("silent", `it wrote no first line within ${LAUNCH_BOUND_MS / 1000} s of its start`);
  }
  if (first.value === "aborted") return fault(canceled(asked).failure);
  if (first.value.kind === "too-long") {
    return no("not-json", "its first line is not a JSON object: it does not end");
  }
  if (first.value.kind === "none") {
    const exit = await unlessAborted(asked.signal, within(clock, EXIT_FOLLOWS_MS, process.exited));
    if (exit === "aborted") return fault(canceled(asked).failure);
    const how = exit === "late" ? "it closed its standard output" : `it ended (${describeExit(exit.value)})`;
    return no("ended", `${how} without a first line`);
  }
  const readiness = parseReadiness(first.value.text, approval);
  const { sessionId } = readiness.ok ? readiness.value : readiness.fault;
  const claimed = sessionId === undefined ? undefined : session.childSessions.claim(sessionId);
  if (sessionId !== undefined && claimed?.ok) {
    asked.onReported?.({
      delegationId,
      name: asked.name,
      version: asked.version,
      sessionId,
      workdir: folder,
      copy,
    });
  }
  if (!readiness.ok) {
    const { kind, why } = readiness.fault;
    return no(kind, `its first line ${why}`, claimed?.ok ? sessionId : undefined);
  }
  return claimed?.ok === false ? no("taken-session-id", `its first line ${claimed.fault}`) : readiness;
}

/**
 * The last lines of a child that did not become ready. None once the launch was given up: then nobody needs an
 * explanation, and the end of the pipe is not awaited.
 */
export async function lastLinesOf({ asked, process }: Started): Promise<string[]> {
  if (asked.signal?.aborted) return [];
  const lines = await unlessAborted(asked.signal, process.lastStderrLines());
  return lines === "aborted" ? [] : lines;
}

/** The child whose first line says `readiness`. Its streams are shared. Its records are held once they were found. */
export function launchedChild(
  { session, asked, approval, folder, process, delegationId, copy }: Started,
  { sessionId, door, operatorToken, recordsDirectory }: Readiness,
): LaunchedChild {
  const own = operatorToken ? [operatorToken] : [];
  const secrets = [approval, ...own];
  const records = findChildRecords({
    home: session.directories.home,
    homeAsGiven: session.environment.HOME,
    workdir: folder.path,
    sessionId,
    reported: recordsDirectory,
    secrets,
  });
  void process.exited.then(records.look);
  process.share(own);
  const release = () => {
    folder.close();
    records.close();
  };
  return {
    delegationId,
    name: asked.name,
    version: asked.version,
    sessionId,
    door,
    operatorToken,
    secrets,
    workdir: folder,
    get records() {
      return records.look();
    },
    copy,
    pid: process.pid,
    readyAt: session.clock.elapsed(),
    exited: process.exited,
    lastStderrLines: process.lastStderrLines,
    signal: process.signal,
    release,
    [Symbol.dispose]: release,
  };
}

const RECORDS = [".murmur", "records"];
/** How many characters of a path a fault quotes. */
const QUOTED = 512;

/** What determines the path of a child's records directory. */
interface ChildRecordsOf {
  /** The home, resolved. */
  readonly home: HeldDirectory;
  /** The home as its variable spells it. The child has the same value. */
  readonly homeAsGiven: string | undefined;
  /** The child's work folder, as the child was given it: absolute and resolved. */
  readonly workdir: string;
  /** The session that the child reported: the name of one entry. */
  readonly sessionId: string;
  /** `records_dir`. Absent if the child reported none. */
  readonly reported: string | undefined;
  /** What a fault must not show of the report. */
  readonly secrets: readonly Secret[];
}

/**
 * Finds the records directory of a child, and holds it.
 *
 * The parent need not be told where it is. The path follows from the home, the child's work folder, which is new, and
 * the child's session. What the child reports is only compared with that path. If the child named a directory other than
 * its own, nothing is ever opened.
 */
export function findChildRecords(of: ChildRecordsOf) {
  const refused = whyNotItsOwn(of);
  let found: ChildRecords = refused === undefined ? holdOwn(of) : fault(refused);
  let looking = refused === undefined;
  return {
    /**
     * The directory, held. The fault is one sentence: no record and no result can be read. A directory that could not be
     * opened before may exist now, or there may be a free descriptor.
     */
    look(): ChildRecords {
      if (looking && !found.ok) found = holdOwn(of);
      return found;
    },
    /** Lets go of the directory and stops looking for it. */
    close() {
      looking = false;
      if (found.ok) found.value.close();
    },
  };
}

function whyNotItsOwn({ home, homeAsGiven, workdir, sessionId, reported, secrets }: ChildRecordsOf) {
  if (reported === undefined || reported === "") return "the child reported no records directory";
  const homes = homeAsGiven === undefined ? [] : [homeAsGiven.replace(/\/+$/, ""), resolve(homeAsGiven)];
  const own = namesOf(workdir, sessionId).join("/");
  if ([home.path, ...homes].some((one) => reported === `${one === "/" ? "" : one}/${own}`)) return undefined;
  // Quoted as a JSON string and cut, because the child chose these characters.
  const quoted = JSON.stringify(redactSaid(reported, secrets).slice(0, QUOTED));
  return printable(
    `the records directory that the child reported, ${quoted}, is not its own, ${join(home.path, own)}`,
  );
}

/** The names from the home down to the directory. */
function namesOf(workdir: string, sessionId: string): string[] {
  return [...RECORDS, ...workdir.split("/").filter((name) => name !== ""), sessionId];
}

/** Opens the directory without following a link. It must belong to this user. */
function holdOwn({ home, workdir, sessionId }: ChildRecordsOf): ChildRecords {
  const names = namesOf(workdir, sessionId);
  const path = join(home.path, ...names);
  const opened = openDescendant(home.descriptor, names.map(encodeName));
  if (!opened.ok) {
    const { step, errno } = opened.fault;
    const why = `the child's records directory, ${path}, could not be opened at ${JSON.stringify(names[step])}: ${describeError(errno)}`;
    if (NO_DIRECTORY.includes(errno)) return fault(why);
    return { ok: false, fault: why, unclear: NO_DESCRIPTOR.includes(errno) ? "no-descriptor" : "unreadable" };
  }
  if (isOwn(opened.value)) return ok(holdDirectory(path, opened.value));
  close(opened.value);
  return fault(`the child's records directory, ${path}, belongs to another user`);
}

function isOwn(directory: Descriptor): boolean {
  const status = statusOf(directory);
  return status.ok && status.value.owner === process.geteuid?.();
}
