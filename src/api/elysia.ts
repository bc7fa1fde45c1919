/**
 * Elysia, kept from doing what this API must not do. By default it parses a body by its content type and answers 422 for
 * a wrong field. It also reads the source of the functions it is given. So:
 *
 * - Each route reads its body itself. `parse: "none"` keeps the framework from reading it too. Routes without a body do
 *   not set it, because it would turn each of their answers into a promise.
 * - A handler destructures `{ request }` in its parameters. If it passed its whole context on, the framework would assume
 *   that everything is used, and parse cookies, queries and bodies.
 * - A schema is copied for each route, because the framework writes into its schemas, and ours are shared.
 * - A refusal is a `Response` that we build. No schema checks it, because all refusals have the same shape.
 * - Each route is compiled at its first request: compiling all of them takes a third of the startup time.
 */

import type { TObject } from "@sinclair/typebox";
import { Elysia, ValidationError } from "elysia";
import type { DecisionLog } from "../log/decision-log.ts";
import { answerRefusal } from "./answer.ts";
import type { Refusal } from "./refusals.ts";

/** An application without routes. A request that matches no route, or that fails, is answered as a refusal. */
export function createRouter(log: DecisionLog) {
  return new Elysia({ aot: true, strictPath: true, normalize: false, precompile: false }).onError(
    ({ error, request }) => answerRefusal(request, refusalOf(error, log), log),
  );
}

/** Route options: the shape of the answer. */
export function answers<Schema extends TObject>(schema: Schema) {
  return { response: { 200: { ...schema } } };
}

/** The same for a route whose handler is `posted`. */
export function answersPosted<Schema extends TObject>(schema: Schema) {
  return { parse: "none" as const, ...answers(schema) };
}

function refusalOf(error: unknown, log: DecisionLog): Refusal {
  if (error instanceof Error && "code" in error && error.code === "NOT_FOUND") return { kind: "not-found" };
  if (error instanceof ValidationError && error.type === "params") return { kind: "not-found" };
  log.failed({
    event: "internal-error",
    error: error instanceof Error ? error.name : typeof error,
    frames: error instanceof Error ? framesOf(error) : undefined,
  });
  return { kind: "internal" };
}

/** The innermost frames of its stack. The message stands before them and may quote the request, so it is cut off first. */
function framesOf({ message, stack = "" }: Error): string | undefined {
  const at = stack.indexOf(message);
  if (at === -1) return undefined;
  const frames = stack.slice(at + message.length).match(/^\s+at .*$/gm);
  return frames
    ?.slice(0, 4)
    .map((frame) => frame.trim())
    .join("; ");
}
