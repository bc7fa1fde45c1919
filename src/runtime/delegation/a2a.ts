/** The part of A2A 1.0 over JSON-RPC that delegations use. */

import { printable } from "../../printable.ts";
import type { Clock } from "../clock.ts";
import { exchange, type HttpExchange } from "../http.ts";
import { redactSaid } from "../redaction.ts";
import { Secret } from "../secret.ts";
import { type DoorUrl, type JsonObject, objectIn, parseJsonObject, stringIn } from "../wire.ts";

export const PARSE_ERROR = -32700;
export const METHOD_NOT_FOUND = -32601;
export const INVALID_PARAMS = -32602;

type RequestId = string | number | null;

/** A request as a door reads it. */
export interface RpcRequest {
  readonly id: RequestId;
  readonly method: string | undefined;
  readonly params: JsonObject;
}

/** Reads a request's body. If it is not JSON-RPC, the result has no method. */
export function readRequest(body: unknown): RpcRequest {
  const fields = objectIn(body);
  const id = fields?.id;
  return {
    id: typeof id === "string" || typeof id === "number" ? id : null,
    method: fields?.jsonrpc === "2.0" ? stringIn(fields.method) : undefined,
    params: objectIn(fields?.params) ?? {},
  };
}

interface RpcError {
  readonly code: number;
  readonly message: string;
  readonly data?: readonly object[];
}

export type RpcAnswer = { readonly result: object } | { readonly error: RpcError };

export function rpcResponse(id: RequestId, answer: RpcAnswer): object {
  return { jsonrpc: "2.0", id, ...answer };
}

/** One user message with one text part. */
export function userMessage(messageId: string, text: string): object {
  return { message: { messageId, role: "ROLE_USER", parts: [{ text }] } };
}

interface RpcCall {
  readonly door: DoorUrl;
  readonly id: string;
  readonly method: string;
  readonly params: object;
  readonly token?: Secret | undefined;
  /** Secrets to take out of the answer, besides the token. */
  readonly secrets?: readonly Secret[];
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal | undefined;
  /** The longest answer that is read, in bytes. The default is that of `exchange`. */
  readonly maxAnswerBytes?: number;
}

/** How a door answered a call. `message` and `said` are the door's own text, with tokens taken out. */
export type RpcReply =
  | { readonly kind: "result"; readonly result: unknown }
  | { readonly kind: "error"; readonly code: number; readonly message: string }
  /** An answer with a 2xx status that is not JSON-RPC. */
  | { readonly kind: "unreadable" }
  /** No answer, one whose status is not 2xx, or (`tooLong`) one that was too long to read to its end. */
  | { readonly kind: "failed"; readonly reason: string; readonly said?: string; readonly tooLong?: true };

/** Makes the call once, to a door on loopback; never throws. */
export async function callDoor(asked: RpcCall, clock: Clock): Promise<RpcReply> {
  const reply = await exchange(
    {
      method: "POST",
      url: asked.door,
      headers: {
        "a2a-version": "1.0",
        ...asked.headers,
        ...(asked.token && { authorization: new Secret(`Bearer ${asked.token.reveal()}`) }),
      },
      body: JSON.stringify({ jsonrpc: "2.0", id: asked.id, method: asked.method, params: asked.params }),
      ...(asked.signal && { signal: asked.signal }),
      ...(asked.maxAnswerBytes !== undefined && { maxAnswerBytes: asked.maxAnswerBytes }),
    },
    clock,
  );
  // A door may quote our request or the tokens of its launch, so we take all of them out of what it says. The reason for
  // having no answer is not the door's words.
  const secrets = [...(asked.secrets ?? []), ...(asked.token ? [asked.token] : [])];
  const shown = (text: string) => redactSaid(text, secrets);
  return reply.kind === "failed" ? { ...reply, reason: printable(reply.reason) } : readReply(reply, shown);
}

function readReply(
  { status, body }: Extract<HttpExchange, { kind: "answered" }>,
  shown: (text: string) => string,
): RpcReply {
  const fields = parseJsonObject(body);
  const error = objectIn(fields?.error);
  const message = stringIn(error?.message);
  // A door that has taken the request answers with status 200, also if it refuses it.
  if (status < 200 || status > 299) {
    const reason = `it answered with status ${status}`;
    return { kind: "failed", reason, ...(message !== undefined && { said: shown(message) }) };
  }
  if (error) {
    const code = typeof error.code === "number" ? error.code : 0;
    return { kind: "error", code, message: shown(message ?? "no message") };
  }
  return fields && "result" in fields ? { kind: "result", result: fields.result } : { kind: "unreadable" };
}
