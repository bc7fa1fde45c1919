/** Gets the result of a plan's `capsule` step: an agent's from its task over A2A, a script's from its exit. */

import type { ArtifactName, Coordinates } from "../../registry/artifact-name.ts";
import { CHILD_FILE_BYTES, readChildFile } from "../child-files.ts";
import { describeExit } from "../launch/held-process.ts";
import type { LaunchedChild } from "../launch/outcome.ts";
import { redact, redactBytes } from "../redaction.ts";
import type { Secret } from "../secret.ts";
import type { RegisteredSession } from "../session/session.ts";
import type { HeldDirectory } from "../tree/held.ts";
import { type DoorUrl, objectIn, stringIn } from "../wire.ts";
import { callDoor, type RpcReply } from "./a2a.ts";
import { deliverTask, messageOf, pauseFor } from "./delivery.ts";
import { identityOf } from "./identity.ts";
import { quoteChild } from "./quoted.ts";
import { BEYOND_BYTES } from "./result-file.ts";
import { RESULT_NAMES } from "./result-place.ts";
import { CUT_MARK, decodeUtf8, wholeCharacters } from "./utf8.ts";
import { EXIT_AFTER_COMPLETION_MS, recordOf } from "./watched-child.ts";

const POLL_MS = 500;
/** The longest A2A answer, in bytes: as long as one in a file, plus the JSON around it. */
const MAX_TASK_BYTES = CHILD_FILE_BYTES + 1024 ** 2;

/** What is known about the child, while it runs or after it ended by itself. */
export type Seen =
  | {
      readonly kind: "completed";
      /** Absent if the answer is in the result file. */
      readonly text?: string;
      /** A script leaves its file in its work folder, an agent in its records directory. */
      readonly script?: true;
    }
  | { readonly kind: "timed_out"; readonly text: string }
  /** `taskOver`: its task ended without completing. */
  | { readonly kind: "failed"; readonly text: string; readonly taskOver?: true }
  | { readonly kind: "canceled" };

interface Asked extends Coordinates {
  readonly task: string;
  /** Aborts when the step is cancelled. */
  readonly signal: AbortSignal;
}

type Agent = LaunchedChild & { readonly door: DoorUrl };

function nameOf({ name, version }: Coordinates): string {
  return `${name}@${version}`;
}

/** Returns when the task or the child ends, at the deadline, or at once when the step is cancelled. */
export async function seeChild(
  session: RegisteredSession,
  asked: Asked,
  child: LaunchedChild,
  watchSecs: number,
): Promise<Seen> {
  const gone = new AbortController();
  void child.exited.then(() => gone.abort());
  const { door } = child;
  return door
    ? seeAgent(session, asked, { ...child, door }, watchSecs, gone.signal)
    : seeScript(session, asked, child, gone.signal);
}

async function seeAgent(
  session: RegisteredSession,
  asked: Asked,
  child: Agent,
  watchSecs: number,
  gone: AbortSignal,
): Promise<Seen> {
  const { clock } = session;
  const what = nameOf(asked);
  const deadline = new AbortController();
  const left = watchSecs * 1000 - (clock.elapsed() - child.readyAt);
  const stop = clock.after(Math.max(0, left), () => deadline.abort());
  const signal = AbortSignal.any([asked.signal, deadline.signal, gone]);
  try {
    const seen = await followTask(session, { ...asked, signal }, child);
    if (typeof seen === "object") return seen;
    if (asked.signal.aborted) return { kind: "canceled" };
    if (gone.aborted)
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
  { clock }: RegisteredSession,
  { signal, ...asked }: Asked,
  child: Agent,
): Promise<Seen | string | undefined> {
  const what = nameOf(asked);
  const { door, operatorToken: token, delegationId, name, secrets } = child;
  const taken = await deliverTask(
    { door, token, delegationId, name, secrets, task: asked.task, signal },
    clock,
  );
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
  };
  let last: string | undefined;
  while (!signal.aborted) {
    const reply = await callDoor({ ...get, maxAnswerBytes: MAX_TASK_BYTES }, clock);
    if (reply.kind === "failed" && reply.tooLong) {
      return { kind: "failed", text: `${what} could not be asked for its answer: ${reply.reason}` };
    }
    const seen = reply.kind === "result" ? readTask(reply.result, what, secrets) : undefined;
    if (seen) return seen;
    if (!signal.aborted) last = whyNoTask(reply, name);
    await pauseFor(POLL_MS, signal, clock);
  }
  return last;
}

function whyNoTask(reply: RpcReply, name: ArtifactName): string | undefined {
  switch (reply.kind) {
    case "result":
      return undefined;
    case "error":
      return `it answered with the error ${reply.code}${messageOf(name, reply)}`;
    case "failed":
      return `${reply.reason}${messageOf(name, reply)}`;
    case "unreadable":
      return "its answer is no JSON-RPC";
    default:
      return reply satisfies never;
  }
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
async function seeScript(
  session: RegisteredSession,
  { signal, ...asked }: Asked,
  child: LaunchedChild,
  gone: AbortSignal,
): Promise<Seen> {
  const what = nameOf(asked);
  await pauseFor(EXIT_AFTER_COMPLETION_MS, AbortSignal.any([signal, gone]), session.clock);
  if (signal.aborted) return { kind: "canceled" };
  const completed: Seen = { kind: "completed", script: true };
  const record = recordOf({ session, child, identity: identityOf(child) });
  if (record?.status === "ok") return completed;
  if (record) {
    const detail = quoteChild(asked.name, "its detail", record.detail ?? "");
    return { kind: "failed", text: `the run of ${what} ended ${record.status}${detail}` };
  }
  if (!gone.aborted) {
    const secs = EXIT_AFTER_COMPLETION_MS / 1000;
    const text = `${what} bound no address, and is no script either: ${secs}s after its first line it still ran`;
    return { kind: "failed", text };
  }
  const status = await child.exited;
  if (status.kind === "exited" && status.status === 0) return completed;
  return { kind: "failed", text: `the run of ${what} failed, ${describeExit(status)}` };
}

/** The whole result file, with the secrets taken out; empty if no file can be read. */
export async function resultText(directory: HeldDirectory, secrets: readonly Secret[]): Promise<string> {
  const chunks: Uint8Array[] = [];
  const read = await readChildFile(directory, RESULT_NAMES, {
    limit: CHILD_FILE_BYTES + BEYOND_BYTES,
    onChunk: (chunk) => void chunks.push(chunk),
  });
  const bytes = Buffer.concat(chunks);
  const kept = wholeCharacters(bytes, CHILD_FILE_BYTES);
  const text = decodeUtf8(redactBytes(bytes, kept, secrets));
  if (!read.ok || kept === bytes.length) return text;
  return `${text}${CUT_MARK}\n[cut at ${kept} of ${read.value.total} bytes]`;
}
