/** Sends a child its task: A2A `SendMessage` to its door, tried until the door listens. */

import type { ArtifactName } from "../../registry/artifact-name.ts";
import { fault, ok, type Result } from "../../result.ts";
import type { Clock } from "../clock.ts";
import type { Secret } from "../secret.ts";
import { type DoorUrl, objectIn, stringIn } from "../wire.ts";
import { callDoor, type RpcReply, userMessage } from "./a2a.ts";
import { quoteChild } from "./quoted.ts";

/** From the first try to the last. */
export const DELIVERY_BOUND_MS = 30_000;
const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 2_000;

export interface TaskDelivery {
  readonly door: DoorUrl;
  readonly token: Secret | undefined;
  /** The child's capsule. */
  readonly name: ArtifactName;
  /** The tokens from its launch. They are taken out of everything it answers. */
  readonly secrets: readonly Secret[];
  readonly delegationId: string;
  readonly task: string;
  /** When it aborts, the delivery is given up at once. */
  readonly signal: AbortSignal;
  /** Aborts when the child has ended. We still wait for an answer under way, but do not try again. */
  readonly gone?: AbortSignal;
}

/**
 * Delivers the task. The child has accepted it if `result.task` has an id and its state is not rejected. We retry only
 * after a transport error or an answer that is not 2xx. Each retry sends the same message id, so that a door which has
 * the message already does not make a second task of it.
 *
 * @returns the id of the child's task. The fault is a phrase to put after "it did not accept its task: ", then what the
 *   child said about it, inside a fence
 */
export async function deliverTask(delivery: TaskDelivery, clock: Clock): Promise<Result<string, string>> {
  const { signal, gone, name, secrets } = delivery;
  const bound = new AbortController();
  const stopBound = clock.after(DELIVERY_BOUND_MS, () => bound.abort());
  const given = AbortSignal.any([signal, bound.signal]);
  let last: Failed = { kind: "failed", reason: "no answer" };
  try {
    for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
      const reply = await callDoor(
        {
          door: delivery.door,
          id: delivery.delegationId,
          method: "SendMessage",
          params: userMessage(`msg_${delivery.delegationId}`, delivery.task),
          token: delivery.token,
          secrets,
          signal: given,
        },
        clock,
      );
      if (signal.aborted) return fault("the call was given up");
      if (reply.kind !== "failed") return acceptance(reply, name);
      if (!given.aborted) last = reply;
      await pauseFor(pause, gone ? AbortSignal.any([given, gone]) : given, clock);
      if (signal.aborted) return fault("the call was given up");
      if (gone?.aborted) return fault(`${last.reason}${messageOf(name, last)}`);
      if (bound.signal.aborted) {
        return fault(`${last.reason}, for ${DELIVERY_BOUND_MS / 1000} s${messageOf(name, last)}`);
      }
    }
  } finally {
    stopBound();
  }
}

type Failed = Extract<RpcReply, { kind: "failed" }>;

/** What the door itself said, inside a fence. */
export function messageOf(name: ArtifactName, reply: RpcReply): string {
  const said = reply.kind === "error" ? reply.message : reply.kind === "failed" ? reply.said : undefined;
  return quoteChild(name, "its message", said ?? "");
}

function acceptance(reply: Exclude<RpcReply, Failed>, name: ArtifactName): Result<string, string> {
  if (reply.kind === "error") {
    return fault(`it answered with the error ${reply.code}${messageOf(name, reply)}`);
  }
  const task = reply.kind === "result" ? objectIn(objectIn(reply.result)?.task) : undefined;
  const id = stringIn(task?.id);
  if (id === undefined) return fault("its answer holds no task");
  if (stringIn(objectIn(task?.status)?.state) === "TASK_STATE_REJECTED") return fault("it rejected the task");
  return ok(id);
}

/** Resolves after `ms` milliseconds, or when the signal aborts. */
export function pauseFor(ms: number, signal: AbortSignal, clock: Clock): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const done = () => {
      stop();
      signal.removeEventListener("abort", done);
      resolve();
    };
    const stop = clock.after(ms, done);
    signal.addEventListener("abort", done);
  });
}
