/** The parent's door for completions: it knows which ones are awaited, and answers each one. */

import { METHOD_NOT_FOUND, type RpcAnswer, type RpcError } from "./a2a.ts";

/** The headers that make a request a completion (API page, "How it travels"). */
export const ORIGIN_HEADER = "x-murmur-task-origin";
export const DELEGATION_HEADER = "x-murmur-delegation-id";
export const ADDRESSEE_HEADER = "x-murmur-completion-session";
export const COMPLETION_ORIGIN = "completion";

export const COMPLETION_MISADDRESSED = -31001;
export const COMPLETION_NOT_AWAITED = -31002;

/** What a completion's headers and its request say. Its message is not read. */
export interface Completion {
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
      if (addressedSession !== sessionId) return { error: misaddressed(addressedSession) };
      if (method !== "SendMessage") {
        return {
          error: { code: METHOD_NOT_FOUND, message: "a completion is a SendMessage, and no other method" },
        };
      }
      if (!delegationId) return { error: notAwaited(NAMELESS) };
      if (receivedIds.has(delegationId)) return received(delegationId);
      const delegation = known.get(delegationId);
      switch (delegation?.state) {
        case "awaited":
          delegation.arrived();
          return received(delegationId);
        case "ending":
          return {
            error: notAwaited(
              `delegation ${delegationId} is being ended by this session; its launcher records the outcome`,
              delegationId,
            ),
          };
        default:
          return {
            error: notAwaited(
              `no task in this session is waiting for delegation ${delegationId}`,
              delegationId,
            ),
          };
      }
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

function misaddressed(addressedSession: string): RpcError {
  return {
    code: COMPLETION_MISADDRESSED,
    message: `completion is addressed to session ${addressedSession}, which is not the session running here`,
    data: [errorInfo("COMPLETION_MISADDRESSED", { addressedSession })],
  };
}

function notAwaited(message: string, delegationId?: string): RpcError {
  return {
    code: COMPLETION_NOT_AWAITED,
    message,
    data: [errorInfo("COMPLETION_NOT_AWAITED", delegationId === undefined ? {} : { delegationId })],
  };
}

function errorInfo(reason: string, metadata: Readonly<Record<string, string>>): object {
  return { "@type": "type.googleapis.com/google.rpc.ErrorInfo", reason, domain: "murmur.nexus", metadata };
}
