/**
 * The five routes, in the order of the API page. A route says its path, its shapes and whose decision it carries; what
 * happens to a request before that is below.
 */

import { whyForeign } from "../guard.ts";
import { answerRefusal, lastAnswer } from "./answer.ts";
import { hasBody } from "./body-bytes.ts";
import { type Context, refuse } from "./context.ts";
import { deregister } from "./deregister.ts";
import { answers, answersPosted, createRouter, posted } from "./elysia.ts";
import { Pipelining } from "./pipelining.ts";
import type { Refusal } from "./refusals.ts";
import { register } from "./register.ts";
import {
  APPROVAL_HEADER,
  CREDENTIAL_HEADER,
  DeregisterAnswer,
  DeregisterBody,
  HealthAnswer,
  RegisterAnswer,
  RegisterBody,
  SpawnAnswer,
  SpawnBody,
  StatusAnswer,
  StatusPath,
} from "./schemas.ts";
import { spawn } from "./spawn.ts";
import { status } from "./status.ts";

function createRoutes(context: Context) {
  const { log } = context;
  return createRouter(log)
    .get("/health", () => ({}), answers(HealthAnswer))
    .post(
      "/spawn",
      posted(log, SpawnBody, CREDENTIAL_HEADER, (body, caller) => spawn(context, body, caller)),
      answersPosted(SpawnAnswer),
    )
    .post(
      "/register",
      posted(log, RegisterBody, APPROVAL_HEADER, (body, caller) => register(context, body, caller)),
      answersPosted(RegisterAnswer),
    )
    .post(
      "/deregister",
      posted(log, DeregisterBody, CREDENTIAL_HEADER, (body, caller) => deregister(context, body, caller)),
      answersPosted(DeregisterAnswer),
    )
    .get(
      "/status/:session_id",
      ({ request, params, path }) => {
        // Paths are compared exactly, and the router has decoded the id. (Dot segments and backslashes are resolved by the
        // server before any of this is asked, and nothing tells that they were there.)
        const isExact = path === `/status/${params.session_id}`;
        const decision = isExact ? status(context, params.session_id) : refuse({ kind: "not-found" });
        return decision.ok ? decision.answer : answerRefusal(request, decision.refusal, log);
      },
      { params: { ...StatusPath }, ...answers(StatusAnswer) },
    );
}

export interface App {
  /** @param portOf the caller's port, which names its connection */
  fetch(request: Request, portOf: () => number | undefined): Response | Promise<Response>;
}

export function createApp(context: Context): App {
  const { fetch: route } = createRoutes(context).compile();
  const pipelining = new Pipelining();
  const answer = (request: Request): Response | Promise<Response> => {
    const refusal = refuseAtTheDoor(request);
    return refusal ? answerRefusal(request, refusal, context.log) : route(request);
  };
  return {
    fetch(request, portOf) {
      const answered = answer(request);
      // Only POST routes read a body; one that stays unread ends the connection with the answer.
      const isLast = pipelining.isLast(portOf) || (request.method !== "POST" && hasBody(request));
      if (!isLast) return answered;
      return answered instanceof Promise ? answered.then(lastAnswer) : lastAnswer(answered);
    },
  };
}

function refuseAtTheDoor(request: Request): Refusal | undefined {
  const why = whyForeign(request.headers);
  if (why !== undefined) return { kind: "foreign-caller", why };
  // The router would answer HEAD where it answers GET.
  return request.method === "HEAD" ? { kind: "not-found" } : undefined;
}
