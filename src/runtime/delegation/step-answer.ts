/** Gets the result of a plan's `capsule` step: an agent's from its task over A2A, a script's from its exit. */

import { type Coordinates, coordinateText } from "../../registry/artifact-name.ts";
import { CHILD_FILE_BYTES } from "../child-files.ts";
import type { Clock } from "../clock.ts";
import { describeExit } from "../launch/held-process.ts";
import type { LaunchedChild } from "../launch/outcome.ts";
import { redact } from "../redaction.ts";
import type { Secret } from "../secret.ts";
import { type DoorUrl, objectIn, stringIn } from "../wire.ts";
import { callDoor } from "./a2a.ts";
import { EXIT_AFTER_COMPLETION_MS, hasExited, recordOf, type WatchedChild, watchLeftMs } from "./child.ts";
import { deliverTask, describeReply, pauseFor } from "./hand-over.ts";
import { quoteChild } from "./untrusted.ts";

const POLL_MS = 500;
/** The longest A2A answer, in bytes: as long as one in a file, plus the JSON around it. */
const MAX_TASK_BYTES = CHILD_FILE_BYTES + 1024 ** 2;

/** What is known about the child, while it runs or after it ended by itself. */
type Seen =
  | {
      readonly kind: "completed";
      /** Absent if the answer is in the result file. */
      readonly text?: string;
      /** A script leaves its file in its work folder, an agent in its records directory. */
      readonly script?: true;
    }
  | {
      readonly kind: "timed_out" | "failed" | "canceled";
      /** Why there is no answer. */
      readonly text: string;
      /** Its task ended without completing. */
      readonly taskOver?: true;
    };

export function canceled(asked: Coordinates) {
  return {
    kind: "canceled",
    text: `${coordinateText(asked)} was ended: the delegating task was cancelled`,
  } as const;
}

/**
 * Returns when the task or the child ends, at the deadline, or at once when the step is cancelled.
 *
 * @param giveUp aborts when the step is cancelled
 */
export function seeChild(watched: WatchedChild, task: string, giveUp: AbortSignal): Promise<Seen> {
  const { door, exited } = watched.child;
  const gone = new AbortController();
  void exited.then(() => gone.abort());
  return door
    ? seeAgent(watched, { door, task, giveUp, gone: gone.signal })
    : seeScript(watched, giveUp, gone.signal);
}

interface AgentTask {
  readonly door: DoorUrl;
  readonly task: string;
  readonly giveUp: AbortSignal;
  readonly gone: AbortSignal;
}

async function seeAgent(watched: WatchedChild, { giveUp, gone, ...asked }: AgentTask): Promise<Seen> {
  const { child, watchSecs } = watched;
  const { clock } = watched.session;
  const what = coordinateText(child);
  const deadline = new AbortController();
  const stop = clock.after(watchLeftMs(watched), () => deadline.abort());
  const signal = AbortSignal.any([giveUp, deadline.signal, gone]);
  try {
    const seen = await followTask(child, { ...asked, signal }, clock);
    if (typeof seen === "object") return seen;
    if (giveUp.aborted) return canceled(child);
    if (await hasExited(child))
      return { kind: "failed", text: `${what} ended before it answered, ${await whyItEnded(child)}` };
    const last = seen === undefined ? "" : `; when it was last asked: ${seen}`;
    return { kind: "timed_out", text: `${what} gave no answer within ${watchSecs}s${last}` };
  } finally {
    stop();
  }
}

/** A capsule that exits with its task cannot be asked for its answer. That is a common mistake, so we name it. */
async function whyItEnded(child: LaunchedChild): Promise<string> {
  const status = await child.exited;
  const clean = status.kind === "exited" && status.status === 0;
  const change = "; a capsule for a plan's step goes on listening: set lifecycle.after_task to sleep in it";
  return `${describeExit(status)}${clean ? change : ""}`;
}

/** Delivers the task and polls it until it is over. If the signal aborts first, returns why the last try failed. */
async function followTask(
  child: LaunchedChild,
  { door, task, signal }: { readonly door: DoorUrl; readonly task: string; readonly signal: AbortSignal },
  clock: Clock,
): Promise<Seen | string | undefined> {
  const what = coordinateText(child);
  const { operatorToken: token, delegationId, name, secrets } = child;
  const taken = await deliverTask({ door, token, delegationId, name, secrets, task, signal }, clock);
  if (signal.aborted) return undefined;
  if (!taken.ok) return { kind: "failed", text: `${what} did not take its task: ${taken.fault}` };
  const get = {
    door,
    id: delegationId,
    method: "GetTask",
    params: { id: taken.value },
    token,
    secrets,
    signal,
    maxAnswerBytes: MAX_TASK_BYTES,
  };
  let last: string | undefined;
  while (!signal.aborted) {
    const reply = await callDoor(get, clock);
    if (reply.kind === "failed" && reply.tooLong) {
      return { kind: "failed", text: `${what} could not be asked for its answer: ${reply.reason}` };
    }
    const seen = reply.kind === "result" ? readTask(reply.result, what, secrets) : undefined;
    if (seen) return seen;
    if (!signal.aborted) last = reply.kind === "result" ? undefined : describeReply(name, reply);
    await pauseFor(POLL_MS, signal, clock);
  }
  return last;
}

/** The task, if it is over; `undefined` while it works. */
function readTask(result: unknown, what: string, secrets: readonly Secret[]): Seen | undefined {
  const task = objectIn(result);
  const state = stringIn(objectIn(task?.status)?.state);
  if (state === "TASK_STATE_COMPLETED") {
    const artifacts = task?.artifacts;
    const parts = Array.isArray(artifacts) ? objectIn(artifacts[0])?.parts : undefined;
    const text = Array.isArray(parts) ? stringIn(objectIn(parts[0])?.text) : undefined;
    return { kind: "completed", ...(text !== undefined && { text: redact(text, secrets) }) };
  }
  const ended = ["TASK_STATE_FAILED", "TASK_STATE_CANCELED", "TASK_STATE_REJECTED"];
  return state !== undefined && ended.includes(state)
    ? { kind: "failed", text: `the task of ${what} ended ${state}`, taskOver: true }
    : undefined;
}

/**
 * A script serves no A2A, and its first line says that its run has finished. Its record or its exit status tells how
 * the run went. A child that has neither after a while is not a script, and a step cannot hand it a task.
 */
async function seeScript(watched: WatchedChild, giveUp: AbortSignal, gone: AbortSignal): Promise<Seen> {
  const { session, child } = watched;
  const what = coordinateText(child);
  await pauseFor(EXIT_AFTER_COMPLETION_MS, AbortSignal.any([giveUp, gone]), session.clock);
  if (giveUp.aborted) return canceled(child);
  const byItself = await hasExited(child);
  const completed: Seen = { kind: "completed", script: true };
  const read = await recordOf(watched);
  if (!read.ok)
    return { kind: "failed", text: `the completion.json of ${what} could not be read: ${read.fault}` };
  const record = read.value;
  if (record?.status === "ok") return completed;
  if (record) {
    const detail = quoteChild(child.name, "its detail", record.detail ?? "");
    return { kind: "failed", text: `the run of ${what} ended ${record.status}${detail}` };
  }
  if (!byItself) {
    const secs = EXIT_AFTER_COMPLETION_MS / 1000;
    const text = `${what} bound no address, and is no script either: ${secs}s after its first line it still ran`;
    return { kind: "failed", text };
  }
  const status = await child.exited;
  if (status.kind === "exited" && status.status === 0) return completed;
  return { kind: "failed", text: `the run of ${what} failed, ${describeExit(status)}` };
}
