/** The child's half: a TypeScript capsule that takes one task over A2A, answers it, and reports how it ended. */

import { setImmediate as turn } from "node:timers/promises";
import { Elysia } from "elysia";
import { type DoorUrl, parseDoorUrl } from "../addresses.ts";
import { unlessAborted } from "../given-up.ts";
import { newId } from "../identifiers.ts";
import { objectIn, stringIn } from "../json.ts";
import { endWithSpawner } from "../lifeline/follow.ts";
import { close, describeError } from "../posix.ts";
import type { Secret } from "../secret.ts";
import { announceReady, closeSession, type Session } from "../session/session.ts";
import { openRegularFile } from "../tree/regular-file.ts";
import { ensureDirectoryAt, replaceFile, writeAll } from "../tree/replaced-file.ts";
import {
  INVALID_PARAMS,
  METHOD_NOT_FOUND,
  type RpcAnswer,
  type RpcRequest,
  readRequest,
  rpcResponse,
} from "./a2a.ts";
import type { CompletionStatus } from "./completion.ts";
import type { CompletionDoor } from "./door.ts";
import { completionPlugin } from "./door-plugin.ts";
import { refuseForeign } from "./loopback-only.ts";
import { postToDoor, reportCompletion } from "./report.ts";
import { createTrace, type SessionExitStatus, traceSessionEnd, traceSessionStart } from "./trace.ts";

/** A2A: no such task. A2A: not of this agent. */
const TASK_NOT_FOUND = -32001;
const UNSUPPORTED_OPERATION = -32004;
/** An answer is given over A2A up to here, in bytes; a longer one is in the result file. */
const MAX_ARTIFACT_BYTES = 512 * 1024;
/**
 * How long a cancelled task may take to come back, its own children ended: of the 5 s that a child has after its spawner's
 * SIGTERM, of the 20 s after its spawner's end, and where nobody's SIGKILL is to come.
 */
const WIND_DOWN_MS = { hurried: 4_000, spawner: 18_000, signal: 18_000 };

/** The task that a delegated capsule was handed. */
export interface ReceivedTask {
  readonly taskId: string;
  readonly contextId: string;
  /** The whole of what this capsule is told. */
  readonly text: string;
  /** Aborts when the task is cancelled or the session winds down. */
  readonly signal: AbortSignal;
}

/** How the task ended. The answer becomes the result file. */
export interface TaskEnd {
  readonly status: "ok" | "error";
  readonly answer?: string | Uint8Array | undefined;
  readonly detail?: string;
}

/** How a delegated capsule serves its task. */
export interface ServeTaskOptions {
  readonly run: (task: ReceivedTask) => Promise<TaskEnd>;
  /** Callers of the door must present it. The readiness line tells it to the parent. */
  readonly operatorToken?: Secret;
  /** Where this capsule delegates in turn. */
  readonly completions?: CompletionDoor;
  /** `lifecycle.after_task`: `exit` ends the session with its task, `sleep` leaves it listening until it is ended. */
  readonly afterTask?: "exit" | "sleep";
  /** Aborted: no task is waited for any more, and one that runs is cancelled; the session ends once it has come back. */
  readonly signal?: AbortSignal;
  /** Called with this capsule's own door before it is ready. */
  readonly onListening?: (door: DoorUrl) => void;
}

type State = "TASK_STATE_WORKING" | "TASK_STATE_COMPLETED" | "TASK_STATE_FAILED" | "TASK_STATE_CANCELED";

const CANCELED: TaskEnd = { status: "error", detail: "the task was cancelled before it was done" };
const ENDED_FIRST: TaskEnd = { status: "error", detail: "the session was ended before its task was done" };

interface HeldTask {
  readonly id: string;
  readonly contextId: string;
  readonly messageId: string;
  state: State;
  answer: string | undefined;
}

/**
 * Serves one task: opens a door on a free loopback port, says that the session is ready, takes the first message as its
 * task, runs it, leaves the answer in `out/result.txt` of the records directory, reports, and retires.
 *
 * @returns the exit status; call `process.exit` with it
 */
export async function serveTask(session: Session, options: ServeTaskOptions): Promise<number> {
  const cancel = new AbortController();
  if (options.signal?.aborted) cancel.abort();
  options.signal?.addEventListener("abort", () => cancel.abort(), { once: true });
  const begun = session.clock.elapsed();
  const taken = Promise.withResolvers<{ readonly held: HeldTask; readonly text: string }>();
  const answered = Promise.withResolvers<void>();
  let held: HeldTask | undefined;
  let running: Promise<RunEnd> | undefined;
  let finishing: Promise<number> | undefined;

  const take = (request: RpcRequest): RpcAnswer => {
    const message = objectIn(request.params.message);
    const messageId = stringIn(message?.messageId);
    const text = textOf(message?.parts);
    if (messageId === undefined || text === undefined) {
      return { error: { code: INVALID_PARAMS, message: "message needs a messageId and text parts" } };
    }
    if (held && held.messageId !== messageId) {
      return { error: { code: UNSUPPORTED_OPERATION, message: "this capsule takes one task, and has it" } };
    }
    if (!held && cancel.signal.aborted) {
      return { error: { code: UNSUPPORTED_OPERATION, message: "this capsule is being ended" } };
    }
    if (!held) {
      held = {
        id: newId("tsk"),
        contextId: newId("ctx"),
        messageId,
        state: "TASK_STATE_WORKING",
        answer: undefined,
      };
      taken.resolve({ held, text });
    }
    return { result: { task: shown(held) } };
  };

  const answerRequest = (request: RpcRequest): RpcAnswer => {
    if (request.method === "SendMessage") return take(request);
    if (request.method !== "GetTask" && request.method !== "CancelTask") {
      return {
        error: { code: METHOD_NOT_FOUND, message: "this door knows SendMessage, GetTask and CancelTask" },
      };
    }
    if (!held || held.id !== request.params.id) {
      return { error: { code: TASK_NOT_FOUND, message: "no such task" } };
    }
    if (request.method === "CancelTask") cancel.abort();
    return { result: shown(held) };
  };

  /** Once, whatever asks for it first: the task's own end, or the end of the session. */
  const finish = (end: TaskEnd, exitStatus: SessionExitStatus): Promise<number> => {
    finishing ??= (async () => {
      const status: CompletionStatus = end.status;
      await report(session, {
        status,
        detail: end.detail,
        durationMs: Math.round(session.clock.elapsed() - begun),
      });
      traceSessionEnd(session, exitStatus);
      await closeSession(session, end.status === "ok" ? "complete" : "failed");
      return 0;
    })();
    return finishing;
  };

  const app = new Elysia().onRequest(({ request }) => refuseForeign(request));
  if (options.completions) app.use(completionPlugin(options.completions));
  app
    .onRequest(({ request }) => {
      const { operatorToken } = options;
      if (!operatorToken) return undefined;
      const given = /^Bearer (.+)$/.exec(request.headers.get("authorization") ?? "")?.[1];
      const isOperator = given !== undefined && operatorToken.matches(given);
      return isOperator ? undefined : new Response(null, { status: 401 });
    })
    .onAfterResponse(() => void (held && answered.resolve()))
    .post("/", ({ body }) => {
      const request = readRequest(body);
      return rpcResponse(request.id, answerRequest(request));
    })
    // The framework would let another process of this user listen on the same port, and take every other task.
    .listen({ hostname: "127.0.0.1", port: 0, reusePort: false });
  const door = parseDoorUrl(`http://127.0.0.1:${app.server?.port}`);
  if (!door) throw new Error("the door has no port");
  options.onListening?.(door);

  const trace = createTrace(session);
  traceSessionStart(session);
  endWithSpawner(session, {
    kind: "agent",
    recordSpawnerEnded: () => trace({ event: "spawner_ended" }),
    async windDown(by) {
      const isIdle = held?.state !== "TASK_STATE_WORKING";
      cancel.abort();
      const bound = WIND_DOWN_MS[session.hurry.signal.aborted ? "hurried" : by];
      const end = await (running && Promise.race([running, pause(session, bound)]));
      const isDone = isIdle || (end !== undefined && !end.canceled);
      return finish(end ?? ENDED_FIRST, isDone ? "ok" : "canceled");
    },
  });
  await announceReady(session, door, options.operatorToken);

  const received = await unlessAborted(options.signal, taken.promise);
  if (received === "aborted") {
    const exit = await finish(ENDED_FIRST, "ok");
    await app.stop(true);
    return exit;
  }
  const { held: task, text } = received;
  // The parent must hear that the task is held before the task can end this process.
  await answered.promise;
  await turn();
  running = runTask(session, options, {
    taskId: task.id,
    contextId: task.contextId,
    text,
    signal: cancel.signal,
  });
  const end = await running;
  task.answer =
    typeof end.answer === "string" && Buffer.byteLength(end.answer) <= MAX_ARTIFACT_BYTES
      ? end.answer
      : undefined;
  task.state = end.canceled
    ? "TASK_STATE_CANCELED"
    : end.status === "ok"
      ? "TASK_STATE_COMPLETED"
      : "TASK_STATE_FAILED";
  // Its end comes by a signal or the lifeline, whose wind-down ends the process.
  if (options.afterTask === "sleep") await unlessAborted(options.signal, new Promise<never>(() => {}));
  const exit = await finish(end, end.canceled ? "canceled" : "ok");
  await app.stop(true);
  return exit;
}

interface RunEnd extends TaskEnd {
  /** It came back after it was cancelled: whatever it says of itself, it ended as canceled. */
  readonly canceled?: true;
}

/** Runs the task and leaves its answer; whatever is thrown is how it ended. One cancelled by now is not begun. */
async function runTask(session: Session, { run }: ServeTaskOptions, task: ReceivedTask): Promise<RunEnd> {
  const { signal } = task;
  try {
    const ran = signal.aborted ? CANCELED : await run(task);
    const end: RunEnd = signal.aborted ? { ...CANCELED, ...ran, status: "error", canceled: true } : ran;
    if (end.answer === undefined) return end;
    const left = await leaveResult(session, end.answer);
    return left === undefined ? end : { ...end, answer: undefined, status: "error", detail: left };
  } catch (error) {
    const detail = error instanceof Error ? error.message : String(error);
    return { status: "error", detail, ...(signal.aborted && { canceled: true }) };
  }
}

async function leaveResult(session: Session, answer: string | Uint8Array): Promise<string | undefined> {
  const out = ensureDirectoryAt(session.directories.records.descriptor, "out");
  if (!out.ok) return `out could not be made in the records directory: ${describeError(out.fault)}`;
  const bytes = typeof answer === "string" ? Buffer.from(answer) : answer;
  const written = await replaceFile(out.value, "result.txt", (descriptor) => writeAll(descriptor, bytes));
  close(out.value);
  return written.ok ? undefined : `out/result.txt could not be written: ${describeError(written.fault)}`;
}

interface Ended {
  readonly status: CompletionStatus;
  readonly detail: string | undefined;
  readonly durationMs: number;
}

/** A capsule that nobody delegated has nobody to report to, and writes no record. */
async function report(session: Session, ended: Ended): Promise<void> {
  const { spawner, run, directories } = session;
  if (!spawner) return;
  const { path, descriptor } = directories.records;
  const result = openRegularFile(descriptor, ["out", "result.txt"]);
  if (result.ok) result.value.close();
  await reportCompletion({
    identity: {
      name: run.name,
      version: run.version,
      delegationId: spawner.delegationId,
      sessionId: session.id,
      workdir: directories.workdir.path,
    },
    report: {
      ...ended,
      reportedBy: "child",
      ...(result.ok && { resultPath: `${path}/out/result.txt` }),
    },
    records: descriptor,
    post: postToDoor(spawner, session.clock),
    diagnose: session.diagnose,
  });
}

function shown({ id, contextId, state, answer }: HeldTask): object {
  const artifacts = [{ artifactId: "result", parts: [{ text: answer }] }];
  return { id, contextId, status: { state }, ...(answer !== undefined && { artifacts }) };
}

function textOf(parts: unknown): string | undefined {
  if (!Array.isArray(parts) || parts.length === 0) return undefined;
  const texts = parts.map((part) => stringIn(objectIn(part)?.text));
  return texts.every((text) => text !== undefined) ? texts.join("\n") : undefined;
}

function pause(session: Session, ms: number): Promise<undefined> {
  return new Promise((resolve) => session.clock.after(ms, () => resolve(undefined)));
}
