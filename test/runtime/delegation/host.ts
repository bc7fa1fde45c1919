/** A delegating session in the test's own process, its door listening, and real workers below it. */

import { readFileSync } from "node:fs";
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
import { openParent } from "../parent.ts";
import { createWorld, ROOMY, type World } from "../world.ts";

export interface Host {
  readonly world: World;
  readonly session: DelegatingSession;
  readonly door: CompletionDoor;
  readonly url: DoorUrl;
  /** The delegations of one more task of the session. */
  task(more?: Partial<TaskDelegationsOptions>): TaskDelegations;
  /** The lines of its trace since it was last asked. */
  trace(): Record<string, unknown>[];
  written(): string;
  stop(): Promise<void>;
}

export async function openHost(): Promise<Host> {
  const world = await createWorld(ROOMY);
  const parent = await openParent(world, await compiled(join(import.meta.dir, "worker-program.ts")));
  const { session } = parent;
  const door = createCompletionDoor(session.id);
  const app = new Elysia().use(completionPlugin(door)).listen({ hostname: "127.0.0.1", port: 0 });
  const url = parseDoorUrl(`http://127.0.0.1:${app.server?.port}`);
  if (!url) throw new Error("no door");
  const made = { session, door, doorUrl: url };
  let read = 0;
  return {
    world,
    session,
    door,
    url,
    task: (more = {}) =>
      createTaskDelegations({ ...made, taskId: newId("tsk"), contextId: newId("ctx"), ...more }),
    trace() {
      const lines = readFileSync(join(session.directories.records.path, "trace.jsonl"), "utf8")
        .trimEnd()
        .split("\n");
      const since = lines.slice(read).map((line) => JSON.parse(line));
      read = lines.length;
      return since;
    },
    written: parent.written,
    async stop() {
      await app.stop(true);
      await closeSession(session, "complete");
      await world.stop();
    },
  };
}
