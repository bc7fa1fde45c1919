/**
 * The five routes, in the order of the API page. A route names its path, its shapes and the function that decides. What is
 * checked of every request, whatever its route, stands below them.
 */

import { whyForeign } from "../guard.ts";
import { hasBody } from "../json-body.ts";
import { fault } from "../result.ts";
import { answerRefusal, lastAnswer } from "./answer.ts";
import { posted } from "./body.ts";
import type { Context, Decision } from "./context.ts";
import { deregister } from "./deregister.ts";
import { answers, answersPosted, createRouter } from "./elysia.ts";
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
        // The router decodes the id, but paths must match exactly.
        const isExact = path === `/status/${params.session_id}`;
        const decision: Decision<StatusAnswer> = isExact
          ? status(context, params.session_id)
          : fault({ kind: "not-found", isInexact: true });
        return decision.ok ? decision.value : answerRefusal(request, decision.fault, log);
      },
      { params: { ...StatusPath }, ...answers(StatusAnswer) },
    );
}

export interface App {
  /** The five paths, as the server's own router takes them. */
  readonly paths: readonly string[];
  /**
   * @param portOf gives the caller's port, which identifies its connection
   * @param isExact whether its path is one of `paths` as it was sent: a request's URL has no dot segments and no backslashes
   * any more, so `/x/../health` looks like `/health` there
   */
  fetch(request: Request, portOf: () => number | undefined, isExact: boolean): Response | Promise<Response>;
}

export function createApp(context: Context): App {
  const router = createRoutes(context);
  const { fetch: route } = router.compile();
  const pipelining = new Pipelining();
  const answer = (request: Request, isExact: boolean): Response | Promise<Response> => {
    const refusal = refuseAtTheDoor(request, isExact);
    return refusal ? answerRefusal(request, refusal, context.log) : route(request);
  };
  return {
    paths: router.routes.map(({ path }) => path),
    fetch(request, portOf, isExact) {
      const answered = answer(request, isExact);
      // Only POST routes read a body. Any other request with a body closes its connection with the answer.
      const isLast = pipelining.isLast(portOf) || (request.method !== "POST" && hasBody(request));
      if (!isLast) return answered;
      return answered instanceof Promise ? answered.then(lastAnswer) : lastAnswer(answered);
    },
  };
}

function refuseAtTheDoor(request: Request, isExact: boolean): Refusal | undefined {
  const why = whyForeign(request.headers);
  if (why !== undefined) return { kind: "foreign-caller", why };
  // The router would answer HEAD on the GET routes.
  if (!isExact) return { kind: "not-found", isInexact: true };
  return request.method === "HEAD" ? { kind: "not-found" } : undefined;
}
