/** Many delegations at once, each ending in a different way. */

import { beforeAll, expect, test } from "bun:test";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { TaskEnd } from "../../../src/runtime/index.ts";
import { noMoreFilesThan, openFiles } from "../../kit/folders.ts";
import { until } from "../../kit/until.ts";
import { processesOf } from "../world.ts";
import { blocksOf, continued, delegate, misdeed, recordOf, type Started, started } from "./driving.ts";
import { sharedHost } from "./shared-host.ts";

/** The parent and its eight children only. */
const CEILING = 9;
/** `lifecycle.delegation_deadline_secs` where it is not set. */
const WATCH_MS = 600_000;

const host = sharedHost(["--max-concurrent", "100", "--max-live-capsules", String(CEILING)]);
beforeAll(async () => {
  // Opens what stays open after its first use, also by the listing of processes.
  const { child } = await delegate(host(), "say:hello");
  expect(processesOf(child.child_workdir)).toEqual([]);
  host().trace();
});

const kill = ({ child_workdir }: Started) => {
  for (const pid of processesOf(child_workdir)) process.kill(pid, "SIGKILL");
};

function completionRecords(): string[] {
  const records = join(host().world.home, ".murmur", "records");
  return readdirSync(records, { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith("completion.json"))
    .map((path) => JSON.parse(readFileSync(join(records, path), "utf8")).delegation_id);
}

async function live(sessionId: string) {
  const answer = await host().session.registration.client.status(sessionId);
  if (answer.kind !== "granted") throw new Error(answer.kind);
  return answer.value;
}

test("eight delegations at once are each closed once, and only slots of dead children remain", async () => {
  const before = openFiles();
  const recordsBefore = completionRecords();
  const { clock, task } = host().clocked();
  const gate = join(host().world.home, "gate-of-the-crowd");
  const [stubborn, late] = await Promise.all([
    started(task, misdeed({ lastly: "stay" })),
    started(task, "late:too late"),
  ]);
  // Their deadline comes before that of the others. An approval is still valid then.
  await clock.advance(50_000);
  const atGate = (end: TaskEnd) => misdeed({ until: gate, lastly: { end } });
  const [killed, killedToo, whole, long, failing, empty] = await Promise.all([
    started(task, "forever"),
    started(task, "forever"),
    started(task, atGate({ status: "ok", answer: "an answer" })),
    started(task, atGate({ status: "ok", answer: "b".repeat(70_000) })),
    started(task, atGate({ status: "error", detail: "no luck" })),
    started(task, atGate({ status: "ok" })),
  ]);
  const all = [stubborn, late, killed, killedToo, whole, long, failing, empty];
  expect((await live(host().session.id)).live_children).toBe(8);
  expect((await live(host().session.id)).live_capsules).toBe(CEILING);

  const settling = continued(task);
  kill(killed);
  kill(killedToo);
  await until("two are dead", () => task.inFlight().length === 6);
  writeFileSync(gate, "");
  await until("four have answered", () => task.inFlight().length === 2);
  await clock.advance(WATCH_MS - 50_000 - 1);
  expect(task.inFlight()).toEqual([stubborn.delegation_id, late.delegation_id].sort());
  await clock.advance(1);
  await until("one has wound down", () => task.inFlight().length === 1);
  expect(task.inFlight()).toEqual([stubborn.delegation_id]);
  await clock.advance(5_000);
  const { text, delegations, said } = await settling;

  const ids = all.map((child) => child.delegation_id).sort();
  expect(delegations).toEqual(ids);
  const blocks = blocksOf(text);
  expect(blocks.map(({ delegationId }) => delegationId)).toEqual(ids);
  const ends = new Map(blocks.map(({ delegationId, status }) => [delegationId, status]));
  expect(all.map((child) => ends.get(child.delegation_id))).toEqual([
    "terminated",
    "terminated",
    "crashed",
    "crashed",
    "ok",
    "ok",
    "error",
    "ok",
  ]);
  expect(said).toEqual([
    ...said
      .slice(0, -1)
      .map((_, index) => `waiting on delegate-task: ${said.length - 1 - index} delegation(s) outstanding`),
    "continuing with 8 delegation outcome(s)",
  ]);

  // One record each, and the launcher's where the child had no say in its end.
  const recorded = completionRecords().filter((id) => !recordsBefore.includes(id));
  expect(recorded.sort()).toEqual(ids);
  for (const child of all) {
    const byLauncher = [stubborn, late, killed, killedToo].includes(child);
    expect(recordOf(host().world.home, child)).toMatchObject({
      delegation_id: child.delegation_id,
      session_id: child.session_id,
      status: ends.get(child.delegation_id),
      reported_by: byLauncher ? "launcher" : "child",
      delivered: true,
    });
  }
  // It reported while it was being ended, and was told so.
  const refused = `the completion of delegation ${late.delegation_id} was not delivered: delegation ${late.delegation_id} is being ended by this session; its launcher records the outcome\n`;
  await until("its own line is read", () => host().written().includes(refused));
  const lines = host().trace();
  const named = (event: string) =>
    lines.filter((line) => line.event === event).map((line) => String(line.delegation_id));
  expect(named("delegation_start").sort()).toEqual(ids);
  expect(named("delegation").sort()).toEqual(ids);
  expect(lines.filter(({ event }) => event === "task_continued")).toMatchObject([{ delegations: ids }]);
  expect(await task.settle({ kind: "finished", turnsLeft: 1 }, () => {})).toEqual({ kind: "done" });

  expect(task.inFlight()).toEqual([]);
  expect(processesOf(host().session.directories.records.path)).toEqual([]);
  await until("every timer is gone", () => clock.waiting() === 0);
  await noMoreFilesThan(before);
  await expectSlots([stubborn, killed, killedToo], [late, whole, long, failing, empty]);
});

/** Only children that died registered still hold a slot: a launch succeeds for each other slot, and no more. */
async function expectSlots(dead: readonly Started[], retired: readonly Started[]): Promise<void> {
  for (const child of dead) expect((await live(child.session_id)).status).toBe("running");
  for (const child of retired) expect((await live(child.session_id)).status).not.toBe("running");
  const held = { live_children: dead.length, live_capsules: 1 + dead.length };
  expect(await live(host().session.id)).toMatchObject(held);
  const { client, credential } = host().session.registration;
  const ask = () => client.spawn({ name: "local/worker", version: "0.1.0" }, credential);
  for (let free = CEILING - held.live_capsules; free > 0; free--) {
    expect((await ask()).kind).toBe("granted");
  }
  expect(await ask()).toMatchObject({
    kind: "refused",
    error: expect.stringContaining(`(--max-live-capsules ${CEILING}), and it is already holding ${CEILING}`),
  });
}
