/**
 * The parent's door for completions: it knows which ones are awaited, and answers each one. A server uses it as a
 * function that answers a request, or as an Elysia plugin.
 */

import { whyForeign } from "../../guard.ts";
import { readJsonBody } from "../../json-body.ts";
import { sentPath } from "../../request-path.ts";
import { METHOD_NOT_FOUND, type RpcAnswer, readRequest, rpcResponse } from "./a2a.ts";

/** The headers that make a request a completion (API page, "How it travels"). */
export const ORIGIN_HEADER = "x-murmur-task-origin";
export const DELEGATION_HEADER = "x-murmur-delegation-id";
export const ADDRESSEE_HEADER = "x-murmur-completion-session";
export const COMPLETION_ORIGIN = "completion";

const CODES = { COMPLETION_MISADDRESSED: -31001, COMPLETION_NOT_AWAITED: -31002 } as const;

/** What a completion's headers and its request say. Its message is not read. */
interface Completion {
  /** The session that the completion is addressed to. */
  readonly addressedSession: string;
  readonly method: string | undefined;
  readonly delegationId: string | undefined;
}

/** The state of a delegation whose outcome has not been received yet. */
type Open = { readonly state: "awaited"; readonly arrived: () => void } | { readonly state: "ending" };

/**
 * A session's completion door, shared by all its tasks.
 *
 * A completion is only a hint to look at the record, because any local process can post one.
 */
export interface CompletionDoor {
  /** Answers one completion, and tells its task if that waits for it. */
  receive(completion: Completion): RpcAnswer;
  /** Accepts completions of this delegation from now on, and calls `arrived` at each. */
  await(delegationId: string, arrived: () => void): void;
  /** This session is ending the delegation: refuses its completions. */
  ending(delegationId: string): void;
  /** It closed with the reported outcome: a further completion is answered as already received. */
  received(delegationId: string): void;
  /** No task waits for the delegation any more. */
  forget(delegationId: string): void;
}

/** How many closed delegations the door remembers. A completion that comes again does so within seconds. */
const REMEMBERED = 4096;

/**
 * The completion door of a session.
 *
 * @param sessionId the id of this session; a completion that is addressed to another is refused
 */
export function createCompletionDoor(sessionId: string): CompletionDoor {
  const known = new Map<string, Open>();
  const receivedIds = new Set<string>();
  return {
    receive({ addressedSession, method, delegationId }) {
      if (addressedSession !== sessionId) {
        const why = `completion is addressed to session ${addressedSession}, which is not the session running here`;
        return refusal("COMPLETION_MISADDRESSED", why, { addressedSession });
      }
      if (method !== "SendMessage") {
        return {
          error: { code: METHOD_NOT_FOUND, message: "a completion is a SendMessage, and no other method" },
        };
      }
      if (!delegationId) return refusal("COMPLETION_NOT_AWAITED", NAMELESS, {});
      if (receivedIds.has(delegationId)) return received(delegationId);
      const delegation = known.get(delegationId);
      if (delegation?.state === "awaited") {
        delegation.arrived();
        return received(delegationId);
      }
      const why = delegation
        ? `delegation ${delegationId} is being ended by this session; its launcher records the outcome`
        : `no task in this session is waiting for delegation ${delegationId}`;
      return refusal("COMPLETION_NOT_AWAITED", why, { delegationId });
    },
    await: (delegationId, arrived) => void known.set(delegationId, { state: "awaited", arrived }),
    ending: (delegationId) => void known.set(delegationId, { state: "ending" }),
    received(delegationId) {
      known.delete(delegationId);
      receivedIds.add(delegationId);
      const [oldest] = receivedIds;
      if (receivedIds.size > REMEMBERED && oldest !== undefined) receivedIds.delete(oldest);
    },
    forget: (delegationId) => void known.delete(delegationId),
  };
}

const NAMELESS = `completion names no delegation in ${DELEGATION_HEADER}, so no task in this session is waiting for it`;

function received(delegationId: string): RpcAnswer {
  return { result: { delegation_id: delegationId, received: true } };
}

function refusal(
  reason: keyof typeof CODES,
  message: string,
  metadata: Readonly<Record<string, string>>,
): RpcAnswer {
  const type = "type.googleapis.com/google.rpc.ErrorInfo";
  const data = [{ "@type": type, reason, domain: "murmur.nexus", metadata }];
  return { error: { code: CODES[reason], message, data } };
}

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
  if (request.method !== "POST" || sentPath(request) !== "/") return undefined;
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

/**
 * The refusal of a request that a web page may have made, or `undefined` if it may go on. The daemon's check is the
 * same. A request without a Host header, which HTTP/1.0 allows, gets 400; any other refused one gets 403. The body is
 * not read, so the connection is closed after the answer.
 */
export function refuseForeign({ headers }: Request): Response | undefined {
  const why = whyForeign(headers);
  if (why === undefined) return undefined;
  const error = `refused before it was read: this door answers only ${why}`;
  const status = headers.has("host") ? 403 : 400;
  return Response.json({ error }, { status, headers: { connection: "close" } });
}
