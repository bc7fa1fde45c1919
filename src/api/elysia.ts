/**
 * Elysia, where it is used against its grain. It would read a body by its content type and answer 422 where a field is
 * wrong, and it reads the source of the functions it is given:
 *
 * - A route gets its request and reads the body itself. `parse: "none"` keeps the framework from reading it, too; on a route
 *   without a body it would make a promise of each answer.
 * - A handler takes `{ request }` apart in its parameters. From one that hands its context on, the framework infers that
 *   everything is used, and parses cookies, queries and bodies.
 * - A schema is copied for each route: the framework writes into those it is given, and these are shared.
 * - A refusal is a `Response` of ours. What it is made of is not checked by a schema, because every kind of refusal has
 *   one shape.
 * - Each route is compiled at its first request: all of them at once take a third of the time to start.
 */

import type { TObject } from "@sinclair/typebox";
import { Elysia, ValidationError } from "elysia";
import type { DecisionLog } from "../log/decision-log.ts";
import { answerRefusal } from "./answer.ts";
import { type BodySchema, type Fields, readBody } from "./body.ts";
import type { Caller, Decision } from "./context.ts";
import type { Refusal } from "./refusals.ts";

/** An application without routes. What no route answers for is refused here: it comes as an exception, and only here. */
export function createRouter(log: DecisionLog) {
  return new Elysia({ aot: true, strictPath: true, normalize: false, precompile: false }).onError(
    ({ error, request }) => answerRefusal(request, refusalOf(error, log), log),
  );
}

/** The shape of an answer. */
export function answers<Schema extends TObject>(schema: Schema) {
  return { response: { 200: { ...schema } } };
}

/** The same of a route whose handler is `posted`. */
export function answersPosted<Schema extends TObject>(schema: Schema) {
  return { parse: "none" as const, ...answers(schema) };
}

/** The handler of a route that takes a body, and a token in a header. */
export function posted<Name extends keyof Fields, Answer>(
  log: DecisionLog,
  schema: BodySchema<Name>,
  tokenHeader: string,
  decide: (body: Pick<Fields, Name>, caller: Caller) => Decision<Answer> | Promise<Decision<Answer>>,
) {
  const handler = async ({ request }: { readonly request: Request }): Promise<Answer | Response> => {
    const body = await readBody(request, schema);
    const decision = body.ok ? await decide(body.answer, callerOf(request, tokenHeader)) : body;
    return decision.ok ? decision.answer : answerRefusal(request, decision.refusal, log);
  };
  // The framework's types have no promise of either.
  return handler as (taken: { readonly request: Request }) => Promise<Answer> | Promise<Response>;
}

function callerOf(request: Request, tokenHeader: string): Caller {
  return {
    token: request.headers.get(tokenHeader) ?? undefined,
    hasLeft: () => request.signal.aborted,
  };
}

function refusalOf(error: unknown, log: DecisionLog): Refusal {
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
