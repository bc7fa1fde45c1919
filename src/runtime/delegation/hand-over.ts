/**
 * Hands a ready child its task: A2A `SendMessage` to its door, tried until the door listens. Meanwhile the child may
 * end, its time may run out, or the call may be given up.
 */

import type { ArtifactName } from "../../registry/artifact-name.ts";
import { fault, ok, type Result } from "../../result.ts";
import { type Clock, unlessAborted, within } from "../clock.ts";
import { describeExit } from "../launch/held-process.ts";
import type { Secret } from "../secret.ts";
import { type DoorUrl, objectIn, stringIn } from "../wire.ts";
import { callDoor, type RpcReply, userMessage } from "./a2a.ts";
import { type Delegation, type NotTaken, pastDeadline, watchLeftMs } from "./child.ts";
import { quoteChild, quoteLines } from "./untrusted.ts";

/** If the child ends while its door is answering, the answer arrives within this time. */
const ANSWER_UNDER_WAY_MS = 1_000;

/**
 * Delivers the task to the child's door.
 *
 * @param signal gives the call up
 * @returns the id of the child's task
 */
export async function handOver(
  delegation: Delegation,
  task: string,
  deliver: typeof deliverTask,
  signal: AbortSignal,
): Promise<Result<string, NotTaken>> {
  const { child, watchSecs } = delegation;
  const { clock } = delegation.session;
  const { door, operatorToken: token, delegationId, name, secrets } = child;
  if (!door) return fault({ why: "it bound no address" });
  const over = new AbortController();
  const gone = new AbortController();
  // The child watch starts at readiness (API page, "Bounds"), so it also ends a child that takes no task.
  const stopWatch = clock.after(watchLeftMs(delegation), () => over.abort("deadline"));
  try {
    const given = AbortSignal.any([signal, over.signal]);
    const delivering = deliver(
      { door, token, delegationId, name, secrets, task, signal: given, gone: gone.signal },
      clock,
    );
    const first = await Promise.race([delivering, child.exited.then(() => "ended" as const)]);
    if (first !== "ended") {
      return over.signal.aborted && !first.ok
        ? fault({ why: pastDeadline(watchSecs), isPastDeadline: true })
        : asTaken(first);
    }
    // It may have ended because it was done, so an answer from its door still counts.
    gone.abort();
    await within(clock, ANSWER_UNDER_WAY_MS, delivering);
    over.abort("ended");
    const last = await delivering;
    if (last.ok || signal.aborted) return asTaken(last);
    const lines = quoteLines(name, await child.lastStderrLines());
    return fault({ why: `it ended before, ${describeExit(await child.exited)}${lines}` });
  } finally {
    stopWatch();
  }
}

function asTaken(delivered: Result<string, string>): Result<string, NotTaken> {
  return delivered.ok ? delivered : fault({ why: delivered.fault });
}

/** From the first try to the last. */
const DELIVERY_BOUND_MS = 30_000;
const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 2_000;

interface TaskDelivery {
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
      if (gone?.aborted) return fault(describeReply(name, last));
      if (bound.signal.aborted) {
        const reason = `${last.reason}, for ${DELIVERY_BOUND_MS / 1000} s`;
        return fault(describeReply(name, { ...last, reason }));
      }
    }
  } finally {
    stopBound();
  }
}

type Failed = Extract<RpcReply, { kind: "failed" }>;

/** Why an answer is of no use, and what the door itself said, inside a fence. */
export function describeReply(name: ArtifactName, reply: Exclude<RpcReply, { kind: "result" }>): string {
  switch (reply.kind) {
    case "error":
      return `it answered with the error ${reply.code}${quoteChild(name, "its message", reply.message)}`;
    case "failed":
      return `${reply.reason}${quoteChild(name, "its message", reply.said ?? "")}`;
    case "unreadable":
      return "its answer is no JSON-RPC";
    default:
      return reply satisfies never;
  }
}

function acceptance(reply: Exclude<RpcReply, Failed>, name: ArtifactName): Result<string, string> {
  if (reply.kind === "error") return fault(describeReply(name, reply));
  const task = reply.kind === "result" ? objectIn(objectIn(reply.result)?.task) : undefined;
  const id = stringIn(task?.id);
  if (id === undefined) return fault("its answer holds no task");
  if (stringIn(objectIn(task?.status)?.state) === "TASK_STATE_REJECTED") return fault("it rejected the task");
  return ok(id);
}

/** Resolves after `ms` milliseconds, or when the signal aborts. */
export async function pauseFor(ms: number, signal: AbortSignal, clock: Clock): Promise<void> {
  if (signal.aborted) return;
  const { promise: over, resolve } = Promise.withResolvers<void>();
  const stop = clock.after(ms, resolve);
  await unlessAborted(signal, over);
  stop();
}
