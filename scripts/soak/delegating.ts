/** A delegating session with its own completion door, for the soak of children and its capsule. */

import { Elysia } from "elysia";
import {
  completionPlugin,
  createCompletionDoor,
  createTaskDelegations,
  type DelegatingSession,
  newId,
  parseDoorUrl,
  type TaskDelegations,
} from "../../src/runtime/index.ts";

interface Delegating {
  /** Starts the delegations of another task. */
  task(): TaskDelegations;
  stop(): Promise<void>;
}

export function delegating(session: DelegatingSession): Delegating {
  const door = createCompletionDoor(session.id);
  const app = new Elysia()
    .use(completionPlugin(door))
    .listen({ hostname: "127.0.0.1", port: 0, reusePort: false });
  const doorUrl = parseDoorUrl(`http://127.0.0.1:${app.server?.port}`);
  if (!doorUrl) throw new Error("the door has no port");
  return {
    task: () =>
      createTaskDelegations({ session, door, doorUrl, taskId: newId("tsk"), contextId: newId("ctx") }),
    stop: async () => void (await app.stop(true)),
  };
}

/** Makes one delegation and waits for its outcome. Returns the result of the call, or of the round. */
export async function delegateOnce(task: TaskDelegations, what: string): Promise<string> {
  const called = await task.call({ capsule: "child", version: "1.0.0", task: what });
  if (called.kind !== "started") return called.kind;
  const settled = await task.settle({ kind: "finished", turnsLeft: 1 }, () => {});
  return settled.kind === "continue" ? (/ ended (\w+):/.exec(settled.text)?.[1] ?? "unread") : settled.kind;
}
