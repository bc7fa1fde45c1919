/**
 * The five routes, in the order of the API page. A route says its path, its shapes and whose decision it carries; how a
 * refusal becomes an answer is said once, below them.
 */

import type { TObject } from "@sinclair/typebox";
import { Elysia, ParseError, status, ValidationError } from "elysia";
import type { Context, Decision } from "./context.ts";
import { deregister } from "./deregister.ts";
import { hasUnreadBody, readJsonBody, refuseForeignCaller } from "./guard.ts";
import { type Refusal, refusalMessage, refusalStatus } from "./refusals.ts";
import { register } from "./register.ts";
import {
  APPROVAL_HEADER,
  CREDENTIAL_HEADER,
  DeregisterAnswer,
  DeregisterBody,
  DeregisterHeaders,
  HealthAnswer,
  Refused,
  RegisterAnswer,
  RegisterBody,
  RegisterHeaders,
  SpawnAnswer,
  SpawnBody,
  SpawnHeaders,
  StatusAnswer,
  StatusPath,
} from "./schemas.ts";
import { spawn } from "./spawn.ts";
import { status as statusOf } from "./status.ts";

const REFUSALS = { 400: Refused, 403: Refused, 404: Refused, 408: Refused, 413: Refused, 500: Refused };

export function createApp(context: Context) {
  return new Elysia({ aot: true, strictPath: true, normalize: false, precompile: true })
    .onRequest(({ request }) => {
      const refusal = refuseForeignCaller(request.headers);
      if (refusal) return answerUnread(refusal, request);
      // The router would answer HEAD where it answers GET.
      return request.method === "HEAD" ? answerUnread({ kind: "not-found" }, request) : undefined;
    })
    .onError(({ error, request }) => answerUnread(refusalOf(error, context), request))
    .get("/health", () => ({}), { response: { 200: HealthAnswer, ...REFUSALS } })
    .post(
      "/spawn",
      async ({ body, headers }) => answer(await spawn(context, body, headers[CREDENTIAL_HEADER])),
      {
        parse: jsonBody(SpawnBody),
        body: SpawnBody,
        headers: SpawnHeaders,
        response: { 200: SpawnAnswer, ...REFUSALS },
      },
    )
    .post(
      "/register",
      async ({ body, headers }) => answer(await register(context, body, headers[APPROVAL_HEADER])),
      {
        parse: jsonBody(RegisterBody),
        body: RegisterBody,
        headers: RegisterHeaders,
        response: { 200: RegisterAnswer, ...REFUSALS },
      },
    )
    .post(
      "/deregister",
      ({ body, headers }) => answer(deregister(context, body, headers[CREDENTIAL_HEADER])),
      {
        parse: jsonBody(DeregisterBody),
        body: DeregisterBody,
        headers: DeregisterHeaders,
        response: { 200: DeregisterAnswer, ...REFUSALS },
      },
    )
    .get(
      "/status/:session_id",
      ({ params, path }) => {
        // Paths are compared exactly, and the router has decoded the id.
        if (path !== `/status/${params.session_id}`) return refusalAnswer({ kind: "not-found" });
        return answer(statusOf(context, params.session_id));
      },
      { params: StatusPath, response: { 200: StatusAnswer, ...REFUSALS } },
    );
}

function answer<Answer>(decision: Decision<Answer>) {
  return decision.ok ? decision.answer : refusalAnswer(decision.refusal);
}

function refusalAnswer(refusal: Refusal) {
  return status(refusalStatus(refusal), { error: refusalMessage(refusal) });
}

/**
 * A refusal before the body was read. What is left of it must never be taken for the next request, so such a
 * connection ends with the answer.
 */
function answerUnread(refusal: Refusal, request: Request): Response {
  const headers = hasUnreadBody(request) ? { connection: "close" } : undefined;
  return Response.json(
    { error: refusalMessage(refusal) },
    { status: refusalStatus(refusal), ...(headers && { headers }) },
  );
}

/** A refusal on its way out of a parser, where only an exception gets through. */
class RefusedRequest extends Error {
  constructor(readonly refusal: Refusal) {
    super(refusal.kind);
  }
}

/** Reads a body as JSON whatever its content type says, and names the first field that is not what the schema wants. */
function jsonBody(schema: TObject) {
  return async ({ request }: { readonly request: Request }): Promise<unknown> => {
    const reading = await readJsonBody(request);
    if (!reading.ok) throw new RefusedRequest(reading.refusal);
    const fault = bodyFault(schema, reading.value);
    if (fault !== undefined) throw new RefusedRequest({ kind: "bad-body", what: fault });
    return reading.value;
  };
}

function bodyFault(schema: TObject, body: unknown): string | undefined {
  if (typeof body !== "object" || body === null || Array.isArray(body))
    return "the body must be a JSON object";
  const fields = new Map(Object.entries(body));
  for (const [name, wanted] of Object.entries(schema.properties)) {
    const value: unknown = fields.get(name);
    if (value === undefined) return `'${name}' is required`;
    const choices: readonly { const: unknown }[] | undefined = wanted.anyOf;
    if (choices && !choices.some((choice) => choice.const === value)) {
      return `'${name}' must be ${choices.map((choice) => `'${choice.const}'`).join(" or ")}`;
    }
    if (!choices && typeof value !== "string") return `'${name}' must be a string`;
  }
  return undefined;
}

function refusalOf(error: unknown, { log }: Context): Refusal {
  const cause = error instanceof ParseError ? error.cause : error;
  if (cause instanceof RefusedRequest) return cause.refusal;
  if (error instanceof Error && "code" in error && error.code === "NOT_FOUND") return { kind: "not-found" };
  if (error instanceof ValidationError && error.type === "params") return { kind: "not-found" };
  // Frames only: a message may quote what a request held.
  const frames = error instanceof Error ? error.stack?.match(/^\s+at .*$/gm)?.slice(0, 4) : undefined;
  log.failed({
    event: "internal-error",
    error: error instanceof Error ? error.name : typeof error,
    frames: frames?.map((frame) => frame.trim()).join("; "),
  });
  return { kind: "internal" };
}
