/** The completion door for a server: as a function that answers a request, and as an Elysia plugin. */

import { readJsonBody } from "../../json-body.ts";
import { readRequest, rpcResponse } from "./a2a.ts";
import {
  ADDRESSEE_HEADER,
  COMPLETION_ORIGIN,
  type CompletionDoor,
  DELEGATION_HEADER,
  ORIGIN_HEADER,
} from "./door.ts";
import { pathOf, refuseForeign } from "./loopback-only.ts";

/**
 * Answers `POST /` with `x-murmur-task-origin: completion`, for the A2A door of a session that delegates. Call it
 * before anything else in the door: the bearer token check, the task queue, the routes.
 * It refuses a request that a web page may have made, so the door must listen on 127.0.0.1 or [::1].
 *
 * @returns `undefined` for every other request, without reading its body; the completion headers mean nothing there
 */
export async function answerCompletion(
  door: CompletionDoor,
  request: Request,
): Promise<Response | undefined> {
  if (request.method !== "POST" || pathOf(request) !== "/") return undefined;
  if (request.headers.get(ORIGIN_HEADER) !== COMPLETION_ORIGIN) return undefined;
  const refused = refuseForeign(request);
  if (refused) return refused;
  const body = await readJsonBody(request);
  // A body that cannot be read has no method, so the code below refuses it.
  const { id, method } = readRequest(body.ok ? body.value : undefined);
  const answer = door.receive({
    addressedSession: request.headers.get(ADDRESSEE_HEADER) ?? "",
    method,
    delegationId: request.headers.get(DELEGATION_HEADER) ?? undefined,
  });
  const headers = body.ok ? undefined : { connection: "close" };
  return Response.json(rpcResponse(id, answer), headers && { headers });
}

/** The part of an Elysia app that the plugin uses, so that our type declarations do not depend on Elysia's. */
export interface RequestHooks {
  onRequest(hook: (context: { readonly request: Request }) => Promise<Response | undefined>): unknown;
}

/**
 * {@link answerCompletion} as an Elysia plugin: `new Elysia().use(completionPlugin(door))`. Use it before any other
 * plugin or hook of the door.
 */
export function completionPlugin(door: CompletionDoor): <App extends RequestHooks>(app: App) => App {
  return (app) => {
    app.onRequest(({ request }) => answerCompletion(door, request));
    return app;
  };
}
