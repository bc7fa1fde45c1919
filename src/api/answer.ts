/** Turns a refusal into a response: a status and `{"error": …}`. Only this file does that. */

import { drain, hasBody } from "../json-body.ts";
import type { DecisionLog } from "../log/decision-log.ts";
import { hashed, type LogFields } from "../log/fields.ts";
import { sentPath } from "../request-path.ts";
import { type Refusal, refusalMessage, refusalStage, refusalStatus } from "./refusals.ts";

/**
 * Answers a refused request. If its body was not read to the end, the connection closes with the answer: the rest of the
 * body must never be read as the next request.
 */
export function answerRefusal(
  request: Request,
  refusal: Refusal,
  log: DecisionLog,
): Response | Promise<Response> {
  const stage = refusalStage(refusal);
  if (stage !== "decision") logRequest(request, refusal, log);
  const answer = Response.json({ error: refusalMessage(refusal) }, { status: refusalStatus(refusal) });
  const isUnread = stage === "unread" && hasBody(request);
  return isUnread ? drain(request).then(() => lastAnswer(answer)) : answer;
}

/** Marks an answer as the last one on its connection. */
export function lastAnswer(answer: Response): Response {
  answer.headers.set("connection", "close");
  return answer;
}

function logRequest(request: Request, refusal: Refusal, log: DecisionLog): void {
  const { method, headers } = request;
  log.refusedUnverified({
    event: "request",
    refused: refusal.kind,
    method,
    ...loggedPath(request),
    host: refusal.kind === "foreign-caller" ? (headers.get("host") ?? "") : undefined,
    origin: headers.get("origin") ?? undefined,
    detail: detailOf(refusal),
  });
}

function detailOf(refusal: Refusal): string | undefined {
  if (refusal.kind === "bad-body") return refusal.what;
  if (refusal.kind === "not-found" && refusal.isInexact) return "no endpoint has this path, as it was sent";
  return undefined;
}

const ROUTES = /^\/(?:health|spawn|register|deregister)$/;
const STATUS = /^\/status\/(.+)$/s;
const FIRST_COMPONENT = /^\/[A-Za-z0-9_-]{0,32}(?=\/|$)/;

/** The path, if it is a route's. Of any other path, its first component and its length in characters. */
export function loggedPath(request: Pick<Request, "url">): LogFields {
  const path = sentPath(request);
  if (ROUTES.test(path)) return { path };
  const [, id] = STATUS.exec(path) ?? [];
  if (id !== undefined) return { path: "/status", session: hashed(id) };
  return { path: FIRST_COMPONENT.exec(path)?.[0] ?? hashed(path), path_length: path.length };
}
