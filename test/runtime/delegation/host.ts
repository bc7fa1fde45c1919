/** A delegating session in the test's own process, its door listening, and real workers below it. */

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Elysia } from "elysia";
import {
  type CompletionDoor,
  closeSession,
  completionPlugin,
  createCompletionDoor,
  createTaskDelegations,
  type DelegatingSession,
  type DoorUrl,
  newId,
  parseDoorUrl,
  type TaskDelegations,
  type TaskDelegationsOptions,
} from "../../../src/runtime/index.ts";
import { compiled } from "../../kit/compiled.ts";
import { type ManualClock, manualClock } from "../../kit/manual-clock.ts";
import { openParent } from "../parent.ts";
import { createWorld, ROOMY, type World } from "../world.ts";

/** A session's door, listening, and the tasks that delegate. */
export interface ServedDelegations {
  readonly door: CompletionDoor;
  readonly url: DoorUrl;
  /** The delegations of one more task of the session. */
  task(more?: Partial<TaskDelegationsOptions>): TaskDelegations;
  stop(): Promise<void>;
}

/** @param port 0 is a free one */
export function serveDelegations(session: DelegatingSession, port: number): ServedDelegations {
  const door = createCompletionDoor(session.id);
  const app = new Elysia()
    .use(completionPlugin(door))
    .listen({ hostname: "127.0.0.1", port, reusePort: false });
  const url = parseDoorUrl(`http://127.0.0.1:${app.server?.port}`);
  if (!url) throw new Error("no door");
  const made = { session, door, doorUrl: url };
  return {
    door,
    url,
    task: (more = {}) =>
      createTaskDelegations({ ...made, taskId: newId("tsk"), contextId: newId("ctx"), ...more }),
    stop: async () => void (await app.stop(true)),
  };
}

export interface Host extends ServedDelegations {
  readonly world: World;
  readonly session: DelegatingSession;
  /** One on a clock of its own. */
  clocked(): { readonly clock: ManualClock; readonly task: TaskDelegations };
  /** The lines of its trace since it was last asked. */
  trace(): Record<string, unknown>[];
  written(): string;
}

/** `flags` are the daemon's; a worker whose `CHILD_MODE` is set reports itself as that says (worker-program.ts). */
export async function openHost(flags: readonly string[] = ROOMY): Promise<Host> {
  await using undo = new AsyncDisposableStack();
  const world = undo.adopt(await createWorld(flags), (made) => made.stop());
  const parent = await openParent(world, await workerBinary());
  const { session } = parent;
  const served = serveDelegations(session, 0);
  const { door, url, task } = served;
  let read = 0;
  undo.move();
  return {
    world,
    session,
    door,
    url,
    task,
    clocked() {
      const clock = manualClock(Date.now());
      return { clock, task: task({ session: { ...session, clock } }) };
    },
    trace() {
      const path = join(session.directories.records.path, "trace.jsonl");
      if (!existsSync(path)) return [];
      const lines = readFileSync(path, "utf8").trimEnd().split("\n");
      const since = lines.slice(read).map((line) => JSON.parse(line));
      read = lines.length;
      return since;
    },
    written: parent.written,
    async stop() {
      await served.stop();
      await closeSession(session, "complete");
      await world.stop();
    },
  };
}

/** The program of every worker. */
export function workerBinary(): Promise<string> {
  return compiled(join(import.meta.dir, "worker-program.ts"));
}
