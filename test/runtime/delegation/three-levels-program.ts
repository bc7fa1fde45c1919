/**
 * One program for three levels of capsules. The top one, which nobody delegated, delegates the task `middle`. The middle
 * one delegates the task `deaf`, and cancels it when its own task is cancelled. The lowest one is deaf: it never returns
 * to its event loop.
 */

import { writeSync } from "node:fs";
import {
  canDelegate,
  createCompletionDoor,
  createTaskDelegations,
  type DoorUrl,
  newId,
  openSession,
  type ReceivedTask,
  serveTask,
  type TaskEnd,
} from "../../../src/runtime/index.ts";
import { started } from "./driving.ts";
import { serveDelegations } from "./host.ts";

const opened = await openSession();
if (!opened.ok || !canDelegate(opened.value)) throw new Error(JSON.stringify(opened));
const session = opened.value;

if (!session.spawner) {
  await started(serveDelegations(session, 0).task(), "middle");
  await new Promise(() => {});
}

const door = createCompletionDoor(session.id);
let doorUrl: DoorUrl | undefined;

const tasks: Record<string, (task: ReceivedTask) => Promise<TaskEnd>> = {
  async middle({ signal }) {
    if (!doorUrl) throw new Error("no door");
    const made = { session, door, doorUrl, taskId: newId("tsk"), contextId: newId("ctx") };
    const delegations = createTaskDelegations(made);
    await started(delegations, "deaf");
    await new Promise((resolve) => signal.addEventListener("abort", resolve));
    await delegations.cancel();
    return { status: "error" };
  },
  async deaf() {
    writeSync(2, "deaf from here on\n");
    for (;;) Bun.sleepSync(10_000);
  },
};

process.exit(
  await serveTask(session, {
    completions: door,
    onListening: (url) => {
      doorUrl = url;
    },
    run: async (task) => (await tasks[task.text]?.(task)) ?? { status: "error", detail: "no such task" },
  }),
);
