/** The little of A2A 1.0 over JSON-RPC that delegations speak. */

import type { DoorUrl } from "../addresses.ts";
import type { Clock } from "../clock.ts";
import { exchange, type HttpExchange } from "../http.ts";
import { type JsonObject, objectIn, parseJsonObject, stringIn } from "../json.ts";
import { redact, Secret } from "../secret.ts";

export const A2A_VERSION = "1.0";
export const VERSION_HEADER = "a2a-version";

export const PARSE_ERROR = -32700;
export const METHOD_NOT_FOUND = -32601;
export const INVALID_PARAMS = -32602;

export type RequestId = string | number | null;

/** A request as a door reads it. */
export interface RpcRequest {
  readonly id: RequestId;
  readonly method: string | undefined;
  readonly params: JsonObject;
}

/** Reads a request's body; what is no JSON-RPC has no method. */
export function readRequest(body: unknown): RpcRequest {
  const fields = objectIn(body);
  const id = fields?.id;
  return {
    id: typeof id === "string" || typeof id === "number" ? id : null,
    method: fields?.jsonrpc === "2.0" ? stringIn(fields.method) : undefined,
    params: objectIn(fields?.params) ?? {},
  };
}

export interface RpcError {
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

export interface RpcCall {
  readonly door: DoorUrl;
  readonly id: string;
  readonly method: string;
  readonly params: object;
  readonly token?: Secret | undefined;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal | undefined;
}

/** What a door made of a call. */
export type RpcReply =
  | { readonly kind: "result"; readonly result: unknown }
  | { readonly kind: "error"; readonly code: number; readonly message: string }
  /** An answer that is no JSON-RPC, with a status of success. */
  | { readonly kind: "unreadable" }
  /** No answer, or one whose status is not 2xx. */
  | { readonly kind: "failed"; readonly reason: string };

/** Makes the call once, to a door on loopback; never throws. */
export async function call(asked: RpcCall, clock: Clock): Promise<RpcReply> {
  const reply = await exchange(
    {
      method: "POST",
      url: asked.door,
      headers: {
        [VERSION_HEADER]: A2A_VERSION,
        ...asked.headers,
        ...(asked.token && { authorization: new Secret(`Bearer ${asked.token.reveal()}`) }),
      },
      body: JSON.stringify({ jsonrpc: "2.0", id: asked.id, method: asked.method, params: asked.params }),
      ...(asked.signal && { signal: asked.signal }),
    },
    clock,
  );
  if (reply.kind === "failed") {
    return { kind: "failed", reason: redact(reply.reason, asked.token ? [asked.token] : []) };
  }
  return readReply(reply);
}

function readReply({ status, body }: Extract<HttpExchange, { kind: "answered" }>): RpcReply {
  const fields = parseJsonObject(body);
  const error = objectIn(fields?.error);
  const message = stringIn(error?.message);
  if (status < 200 || status > 299) {
    return { kind: "failed", reason: message ?? `it answered with status ${status}` };
  }
  if (error) {
    const code = typeof error.code === "number" ? error.code : 0;
    return { kind: "error", code, message: message ?? "no message" };
  }
  return fields && "result" in fields ? { kind: "result", result: fields.result } : { kind: "unreadable" };
}
