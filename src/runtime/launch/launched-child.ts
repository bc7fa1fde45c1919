/** What a launch gives once its child is ready. */

import type { SpawnApproval } from "../client.ts";
import type { Readiness } from "../contract/readiness.ts";
import type { ChildDirectory } from "../directories.ts";
import type { RegisteredSession } from "../session/session.ts";
import type { WorkdirSnapshot } from "../snapshot/account.ts";
import type { ChildProcess } from "./child-process.ts";
import { findChildRecords } from "./child-records.ts";
import type { LaunchedChild, LaunchRequest } from "./outcome.ts";

/** A process that was started but is not ready yet. */
export interface Started {
  readonly process: ChildProcess;
  readonly delegationId: string;
  readonly copy: WorkdirSnapshot | undefined;
}

interface Launched {
  readonly session: RegisteredSession;
  readonly asked: LaunchRequest;
  readonly approval: SpawnApproval;
}

/** The child whose first line says `readiness`. Its streams are shared. Its records are held from when they exist. */
export function launchedChild(
  { session, asked, approval }: Launched,
  folder: ChildDirectory,
  { process, delegationId, copy }: Started,
  { sessionId, door, operatorToken, recordsDirectory }: Readiness,
): LaunchedChild {
  const own = operatorToken ? [operatorToken] : [];
  const secrets = [approval.approval, ...own];
  const records = findChildRecords({
    home: session.directories.home,
    homeAsGiven: session.environment.HOME,
    workdir: folder.path,
    sessionId,
    reported: recordsDirectory,
    secrets,
  });
  void process.exited.then(records.lookAgain);
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
      return records.found;
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
