/** The door of a delegated capsule: A2A on a free loopback port, and the one task that it takes there. */

import { Elysia } from "elysia";
import type { Secret } from "../secret.ts";
import { newId, objectIn, parseDoorUrl, parseJsonObject, stringIn } from "../wire.ts";
import {
  INVALID_PARAMS,
  METHOD_NOT_FOUND,
  PARSE_ERROR,
  type RpcAnswer,
  type RpcRequest,
  readRequest,
  rpcResponse,
} from "./a2a.ts";
import { type CompletionDoor, completionPlugin, refuseForeign } from "./door.ts";

export interface ChildDoorOptions {
  /** Every caller of the door must present this token. The parent gets it from the readiness line. */
  readonly operatorToken?: Secret;
  /** Set if this capsule itself delegates. */
  readonly completions?: CompletionDoor;
}

export type ChildDoor = ReturnType<typeof openChildDoor>;

/** @param onAnswered called once an answer has gone out */
export function openChildDoor(
  { operatorToken, completions }: ChildDoorOptions,
  slot: TaskSlot,
  onAnswered: () => void,
) {
  const app = new Elysia().onRequest(({ request }) => refuseForeign(request));
  if (completions) app.use(completionPlugin(completions));
  app
    .onRequest(({ request }) => {
      if (!operatorToken) return undefined;
      const given = /^Bearer (.+)$/.exec(request.headers.get("authorization") ?? "")?.[1];
      const isOperator = given !== undefined && operatorToken.matches(given);
      return isOperator ? undefined : new Response(null, { status: 401 });
    })
    .onAfterResponse(onAnswered)
    // As the daemon does, whatever the content type says.
    .post(
      "/",
      ({ body }) => {
        const fields = parseJsonObject(String(body));
        if (!fields) return rpcResponse(null, refuse(PARSE_ERROR, "the body is not one JSON object"));
        const request = readRequest(fields);
        return rpcResponse(request.id, slot.answer(request));
      },
      { parse: "text" },
    )
    // By default, the framework lets another process of this user share the port and take some of the requests.
    .listen({ hostname: "127.0.0.1", port: 0, reusePort: false });
  const url = parseDoorUrl(`http://127.0.0.1:${app.server?.port}`);
  if (!url) throw new Error("the door has no port");
  return { url, stop: async () => void (await app.stop(true)) };
}

/** A2A: no such task. A2A: not of this agent. */
const TASK_NOT_FOUND = -32001;
const UNSUPPORTED_OPERATION = -32004;
/** The longest answer given over A2A, in bytes. A longer one is only in the result file. */
const MAX_ARTIFACT_BYTES = 512 * 1024;

type State = "TASK_STATE_WORKING" | "TASK_STATE_COMPLETED" | "TASK_STATE_FAILED" | "TASK_STATE_CANCELED";

interface TakenTask {
  readonly id: string;
  readonly contextId: string;
  readonly messageId: string;
  /** All the text of the task. */
  readonly text: string;
  state: State;
  answer: string | undefined;
}

type TaskSlot = ReturnType<typeof createTaskSlot>;

/** @param cancel aborted by `CancelTask`; once it has aborted, no task is accepted */
export function createTaskSlot(cancel: AbortController) {
  const taken = Promise.withResolvers<TakenTask>();
  let task: TakenTask | undefined;

  const take = ({ params }: RpcRequest): RpcAnswer => {
    const message = objectIn(params.message);
    const messageId = stringIn(message?.messageId);
    const text = textOf(message?.parts);
    if (messageId === undefined || text === undefined) {
      return refuse(INVALID_PARAMS, "message needs a messageId and text parts");
    }
    if (task && task.messageId !== messageId) {
      return refuse(UNSUPPORTED_OPERATION, "this capsule takes one task, and has it");
    }
    if (!task && cancel.signal.aborted) {
      return refuse(UNSUPPORTED_OPERATION, "this capsule is being ended");
    }
    task ??= newTask(messageId, text);
    taken.resolve(task);
    return { result: { task: shown(task) } };
  };

  return {
    /** Resolves with the task once it was taken. */
    taken: taken.promise,
    /** The task, if it was taken already. */
    task: () => task,
    answer(request: RpcRequest): RpcAnswer {
      if (request.method === "SendMessage") return take(request);
      if (request.method !== "GetTask" && request.method !== "CancelTask") {
        return refuse(METHOD_NOT_FOUND, "this door knows SendMessage, GetTask and CancelTask");
      }
      if (!task || task.id !== request.params.id) return refuse(TASK_NOT_FOUND, "no such task");
      if (request.method === "CancelTask") cancel.abort();
      return { result: shown(task) };
    },
  };
}

/** How the task ended. The answer becomes the result file. */
export interface TaskEnd {
  readonly status: "ok" | "error";
  readonly answer?: string | Uint8Array | undefined;
  readonly detail?: string;
}

export interface RunEnd extends TaskEnd {
  /** It returned after it was cancelled, so it counts as canceled, whatever it returned. */
  readonly canceled?: true;
}

/** Sets how the task ended; the door shows it that way from now on. */
export function closeTask(task: TakenTask, { answer, status, canceled }: RunEnd): void {
  const isShort = typeof answer === "string" && Buffer.byteLength(answer) <= MAX_ARTIFACT_BYTES;
  task.answer = isShort ? answer : undefined;
  if (canceled) task.state = "TASK_STATE_CANCELED";
  else task.state = status === "ok" ? "TASK_STATE_COMPLETED" : "TASK_STATE_FAILED";
}

function newTask(messageId: string, text: string): TakenTask {
  const state = "TASK_STATE_WORKING";
  return { id: newId("tsk"), contextId: newId("ctx"), messageId, text, state, answer: undefined };
}

function refuse(code: number, message: string): RpcAnswer {
  return { error: { code, message } };
}

function shown({ id, contextId, state, answer }: TakenTask): object {
  const artifacts = [{ artifactId: "result", parts: [{ text: answer }] }];
  return { id, contextId, status: { state }, ...(answer !== undefined && { artifacts }) };
}

function textOf(parts: unknown): string | undefined {
  if (!Array.isArray(parts) || parts.length === 0) return undefined;
  const texts = parts.map((part) => stringIn(objectIn(part)?.text));
  return texts.every((text) => text !== undefined) ? texts.join("\n") : undefined;
}
