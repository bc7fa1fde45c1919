/**
 * The five routes, in the order of the API page. A route says its path, its shapes and whose decision it carries; how a
 * refusal becomes an answer is said once, below them.
 */

import type { TObject } from "@sinclair/typebox";
import { status as answerStatus, Elysia, ValidationError } from "elysia";
import { whyForeign } from "../guard.ts";
import type { DecisionLog } from "../log/decision-log.ts";
import { printable } from "../printable.ts";
import { drain, hasBody, readJsonBody } from "./body.ts";
import type { Context, Decision } from "./context.ts";
import { deregister } from "./deregister.ts";
import { loggedPath } from "./logged.ts";
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
import { status } from "./status.ts";

export function createApp(context: Context) {
  const { log } = context;
  // Each route is compiled at its first request: all of them at once take a third of the time to start.
  return new Elysia({ aot: true, strictPath: true, normalize: false, precompile: false })
    .onRequest(({ request, set }) => {
      // It returns nothing: what may return a promise, by its source, is awaited at each request.
      // Only POST routes read a body; one that stays unread ends the connection with the answer.
      if (request.method !== "POST" && hasBody(request)) set.headers.connection = "close";
      const why = whyForeign(request.headers);
      if (why !== undefined) throw new RefusedRequest({ kind: "foreign-caller", why });
      // The router would answer HEAD where it answers GET.
      if (request.method === "HEAD") throw new RefusedRequest({ kind: "not-found" });
    })
    .onError(({ error, request }) => answerOutside(refusalOf(error, log), request, log))
    .get("/health", () => ({}), { response: answers(HealthAnswer) })
    .post(
      "/spawn",
      async ({ body, headers }) => answer(await spawn(context, body, headers[CREDENTIAL_HEADER]), log),
      { ...jsonBody(SpawnBody), headers: own(SpawnHeaders), response: answers(SpawnAnswer) },
    )
    .post(
      "/register",
      async ({ body, headers }) => answer(await register(context, body, headers[APPROVAL_HEADER]), log),
      { ...jsonBody(RegisterBody), headers: own(RegisterHeaders), response: answers(RegisterAnswer) },
    )
    .post(
      "/deregister",
      ({ body, headers }) => answer(deregister(context, body, headers[CREDENTIAL_HEADER]), log),
      { ...jsonBody(DeregisterBody), headers: own(DeregisterHeaders), response: answers(DeregisterAnswer) },
    )
    .get(
      "/status/:session_id",
      ({ params, path }) => {
        // Paths are compared exactly, and the router has decoded the id. (Dot segments and backslashes are resolved by the
        // server before any of this is asked, and nothing tells that they were there.)
        if (path !== `/status/${params.session_id}`) return refusalAnswer({ kind: "not-found" });
        return answer(status(context, params.session_id), log);
      },
      { params: own(StatusPath), response: answers(StatusAnswer) },
    );
}

/** A schema of the route's own: the framework writes into those it is given, and these are shared. */
function own<Schema extends TObject>(schema: Schema): Schema {
  return { ...schema };
}

function answers<Schema extends TObject>(schema: Schema) {
  const refused = own(Refused);
  return {
    200: own(schema),
    400: refused,
    403: refused,
    404: refused,
    408: refused,
    413: refused,
    500: refused,
  };
}

function answer<Answer>(decision: Decision<Answer>, log: DecisionLog) {
  if (decision.ok) return decision.answer;
  const { refusal } = decision;
  // A decision logs what it refused; a body it could not make sense of never became one.
  if (refusal.kind === "bad-body")
    log.refusedUnverified({ event: "request", refused: refusal.kind, detail: refusal.what });
  return refusalAnswer(refusal);
}

function refusalAnswer(refusal: Refusal) {
  return answerStatus(refusalStatus(refusal), { error: refusalMessage(refusal) });
}

/**
 * A refusal from outside a route's own code. Where a body was not read to its end, what is left of it must never be taken
 * for the next request: such a connection ends with the answer.
 */
async function answerOutside(refusal: Refusal, request: Request, log: DecisionLog): Promise<Response> {
  const { method, url, headers } = request;
  log.refusedUnverified({
    event: "request",
    refused: refusal.kind,
    method,
    ...loggedPath(url),
    host: refusal.kind === "foreign-caller" ? (headers.get("host") ?? "") : undefined,
    origin: headers.get("origin") ?? undefined,
    detail: refusal.kind === "bad-body" ? refusal.what : undefined,
  });
  const isUnread = refusal.kind !== "bad-body" && hasBody(request);
  if (isUnread) await drain(request);
  return Response.json(
    { error: refusalMessage(refusal) },
    { status: refusalStatus(refusal), ...(isUnread && { headers: { connection: "close" } }) },
  );
}

/** A refusal on its way out of a parser, where only an exception gets through. */
class RefusedRequest extends Error {
  constructor(readonly refusal: Refusal) {
    super(refusal.kind);
  }
}

/**
 * How a route takes its body: as JSON whatever its content type says, refused by the first field that is not what the
 * schema wants. The framework would pick a parser by content type, and answer 422.
 */
function jsonBody<Schema extends TObject>(schema: Schema) {
  return {
    parse: "none" as const,
    // An arrow: the framework reads the source of what it is given, and stumbles over a method.
    transform: async (context: { readonly request: Request; body: unknown }): Promise<void> => {
      const reading = await readJsonBody(context.request);
      if (!reading.ok) throw new RefusedRequest(reading.refusal);
      const fault = bodyFault(schema, reading.value);
      if (fault !== undefined) throw new RefusedRequest({ kind: "bad-body", what: fault });
      context.body = reading.value;
    },
    body: own(schema),
  };
}

/** Of a value that is wrong, so many characters are said back. */
const MAX_QUOTED = 64;

function bodyFault(schema: TObject, body: unknown): string | undefined {
  if (typeof body !== "object" || body === null || Array.isArray(body))
    return "the body must be a JSON object";
  const fields = new Map(Object.entries(body));
  for (const [name, wanted] of Object.entries(schema.properties)) {
    const value: unknown = fields.get(name);
    if (value === undefined) return `'${name}' is required`;
    const choices: readonly { const: unknown }[] | undefined = wanted.anyOf;
    if (typeof value !== "string") return `'${name}' must be a string`;
    if (choices && !choices.some((choice) => choice.const === value)) {
      const known = choices.map((choice) => `'${choice.const}'`).join(" or ");
      const said = value.length > MAX_QUOTED ? `${value.slice(0, MAX_QUOTED)}…` : value;
      return `${name} '${printable(said)}' is not ${known}`;
    }
  }
  return undefined;
}

function refusalOf(error: unknown, log: DecisionLog): Refusal {
  if (error instanceof RefusedRequest) return error.refusal;
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
