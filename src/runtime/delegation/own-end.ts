/** A child's own report: at the end of its session it says to its parent how that ended (API page, "Who reports"). */

import type { Coordinates } from "../../registry/artifact-name.ts";
import type { Clock } from "../clock.ts";
import type { SpawnerHandle } from "../contract/environment.ts";
import type { SessionDirectories } from "../directories.ts";
import type { Diagnose } from "../output.ts";
import type { HeldDirectory } from "../tree/held.ts";
import { callDoor, userMessage } from "./a2a.ts";
import { notice, type Post, type Report, reportCompletion } from "./completion.ts";
import { ADDRESSEE_HEADER, COMPLETION_ORIGIN, DELEGATION_HEADER, ORIGIN_HEADER } from "./door.ts";
import { resultPathIn } from "./result-file.ts";

/** The session that ends. */
interface EndedSession {
  readonly id: string;
  readonly run: Coordinates;
  readonly directories: SessionDirectories;
  readonly spawner: SpawnerHandle | undefined;
  readonly openedAt: number;
  readonly clock: Clock;
  readonly diagnose: Diagnose;
}

/** How it ended. */
interface OwnEnd extends Pick<Report, "status" | "detail"> {
  /** Where its result is, if it left one: an agent's records directory, a script's work folder. */
  readonly resultIn: HeldDirectory;
}

const reports = new WeakMap<SessionDirectories, Promise<unknown>>();

/**
 * Records and posts the end. A session is reported once: a second call only waits for the first. A capsule without a
 * parent has nowhere to report to, and writes no record.
 *
 * @param cut when it aborts, the parent is not waited for; if it has aborted, nothing is posted
 */
export async function reportOwnEnd(session: EndedSession, end: OwnEnd, cut?: AbortSignal): Promise<void> {
  const { spawner, directories } = session;
  if (!spawner) return;
  const report = reports.get(directories) ?? recordAndPost(session, spawner, end, cut);
  reports.set(directories, report);
  await report;
}

function recordAndPost(
  { id, run, directories, openedAt, clock, diagnose }: EndedSession,
  spawner: SpawnerHandle,
  { status, detail, resultIn }: OwnEnd,
  cut: AbortSignal | undefined,
): Promise<unknown> {
  return reportCompletion({
    identity: {
      name: run.name,
      version: run.version,
      delegationId: spawner.delegationId,
      sessionId: id,
      workdir: directories.workdir,
    },
    report: {
      status,
      detail,
      durationMs: Math.round(clock.elapsed() - openedAt),
      reportedBy: "child",
      resultPath: resultPathIn(resultIn),
    },
    records: directories.records.descriptor,
    post: cut?.aborted ? undefined : postToDoor(spawner, clock, cut),
    diagnose,
  });
}

/**
 * A child's post: one `SendMessage` to its parent's door, without retries. The answer's shape is not checked.
 *
 * @param cut when it aborts, the answer is not waited for
 */
export function postToDoor(handle: SpawnerHandle, clock: Clock, cut?: AbortSignal): Post | undefined {
  const { url, delegationId, sessionId } = handle;
  if (!url) return undefined;
  return async (identity, report) => {
    const result = report.resultPath === undefined ? "" : `\nresult_path: ${report.resultPath}`;
    const reply = await callDoor(
      {
        door: url,
        id: delegationId,
        method: "SendMessage",
        params: userMessage(`msg_completion_${delegationId}`, `${notice(identity, report)}${result}`),
        headers: {
          [ORIGIN_HEADER]: COMPLETION_ORIGIN,
          [DELEGATION_HEADER]: delegationId,
          [ADDRESSEE_HEADER]: sessionId,
        },
        signal: cut,
      },
      clock,
    );
    switch (reply.kind) {
      case "error":
        return { delivered: false, deliveryError: reply.message };
      case "failed":
        return { delivered: false, deliveryError: reply.said ?? reply.reason };
      case "result":
      case "unreadable":
        return { delivered: true };
      default:
        return reply satisfies never;
    }
  };
}
