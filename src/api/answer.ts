/** A refusal on its way to the caller: the one place where it becomes a status and `{"error": …}`. */

import type { DecisionLog } from "../log/decision-log.ts";
import { drain, hasBody } from "./body-bytes.ts";
import { loggedPath } from "./logged.ts";
import { type Refusal, refusalMessage, refusalStatus } from "./refusals.ts";

/**
 * Answers a request that is refused. If its body was not read to its end, the rest of it must never be taken for the next
 * request, so the connection ends with the answer.
 */
export function answerRefusal(
  request: Request,
  refusal: Refusal,
  log: DecisionLog,
): Response | Promise<Response> {
  const stage = stageOf(refusal);
  if (stage !== "decision") logRequest(request, refusal, log);
  const isUnread = stage === "unread" && hasBody(request);
  if (isUnread) return drain(request).then(() => lastAnswer(refusalAnswer(refusal)));
  return refusalAnswer(refusal);
}

/** The answer, as the last one of its connection. */
export function lastAnswer(answer: Response): Response {
  answer.headers.set("connection", "close");
  return answer;
}

function refusalAnswer(refusal: Refusal): Response {
  return Response.json({ error: refusalMessage(refusal) }, { status: refusalStatus(refusal) });
}

/**
 * How far a request came: to a decision, which logs for itself what it refused; to a body that was read and not
 * understood; or not even to the end of its body.
 */
function stageOf({ kind }: Refusal): "decision" | "body" | "unread" {
  switch (kind) {
    case "not-found":
    case "foreign-caller":
    case "body-too-large":
    case "body-too-slow":
    case "body-ended-early":
    case "internal":
      return "unread";
    case "bad-body":
    case "bad-outcome":
      return "body";
    default:
      return "decision";
  }
}

function logRequest(request: Request, refusal: Refusal, log: DecisionLog): void {
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
}
