/** The first and the last line of a child's own trace, for each way it can end. */

import { expect, test } from "bun:test";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { callDoor, userMessage } from "../../../src/runtime/delegation/a2a.ts";
import { type DoorUrl, endAll, launch } from "../../../src/runtime/index.ts";
import { endAfterTest } from "../../kit/end-after-test.ts";
import { publishCapsule } from "../../kit/host.ts";
import { patientClock } from "../../kit/patient-clock.ts";
import { until } from "../../kit/until.ts";
import { coordinates } from "../parent.ts";
import { processesOf, runArguments } from "../world.ts";
import { sharedHost } from "./shared-host.ts";
import { writeChild } from "./shell-child.ts";

const host = sharedHost();

/** A child that was handed its task, where there is one. */
async function worker(task: string | undefined, capsule = coordinates("local/worker")) {
  const program = join(import.meta.dir, "plain-worker-program.ts");
  const binary = writeChild(host().world.home, "plain", `exec '${process.execPath}' '${program}' "$@"`);
  const environment = { ...host().session.environment, MURMUR_MUR_BINARY: binary };
  const outcome = await launch({ ...host().session, environment }, { ...capsule, contextId: "ctx_1" });
  if (outcome.kind !== "launched") throw new Error(JSON.stringify(outcome));
  const { child } = outcome;
  if (!child.door || !child.records.ok) throw new Error("no door or no records");
  const { door } = child;
  const ask = async (method: string, params: object) => {
    const reply = await callDoor({ door, id: "1", method, params }, patientClock);
    if (reply.kind !== "result") throw new Error(JSON.stringify(reply));
    return reply.result as { task: { id: string }; status: { state: string } };
  };
  const taken = task === undefined ? undefined : await ask("SendMessage", userMessage("msg_1", task));
  const { path } = child.records.value;
  return {
    child,
    /** The state of its task. */
    state: async () => (await ask("GetTask", { id: taken?.task.id })).status.state,
    cancel: () => ask("CancelTask", { id: taken?.task.id }),
    /** Its events, once it has exited. */
    async events(): Promise<unknown[]> {
      await child.exited;
      child.release();
      const lines = readFileSync(join(path, "trace.jsonl"), "utf8").trimEnd().split("\n");
      return lines.map((line) => JSON.parse(line));
    },
  };
}

const START = { event: "session_start", capsule: "worker", version: "0.1.0", tools_declared: [] };

test.each([
  ["well", "done"],
  ["in error", "fail"],
])("a session whose task has ended %s ends ok", async (_, task) => {
  const { child, events } = await worker(task);
  const lines = await events();
  expect(lines).toMatchObject([START, { event: "session_end", exit_status: "ok" }]);
  for (const line of lines) expect(line).toMatchObject({ session_id: child.sessionId });
});

test("a session that is told to stop while idle ends ok, whether or not it had a task", async () => {
  const without = await worker(undefined);
  const lifecycle = "lifecycle: {after_task: sleep}\n";
  await publishCapsule(host().world.registry, "local/worker", lifecycle, "0.2.0");
  const after = await worker("done", coordinates("local/worker", "0.2.0"));
  await until("it is done", async () => (await after.state()) === "TASK_STATE_COMPLETED");
  await endAll([without.child, after.child], patientClock);
  for (const [version, { events }] of [
    ["0.1.0", without],
    ["0.2.0", after],
  ] as const) {
    expect(await events()).toMatchObject([
      { ...START, version },
      { event: "session_end", exit_status: "ok" },
    ]);
  }
});

test("a session that is told to stop during its task, or whose task was canceled, is canceled", async () => {
  const ended = await worker("forever");
  await endAll([ended.child], patientClock);
  const canceled = await worker("forever");
  await canceled.cancel();
  for (const { events } of [ended, canceled]) {
    expect(await events()).toMatchObject([START, { event: "session_end", exit_status: "canceled" }]);
  }
});

test("a session that is killed has no end event", async () => {
  const { child, events } = await worker("forever");
  child.signal("SIGKILL");
  expect(await events()).toMatchObject([START]);
});

/** A worker whose parent is a process of its own, which can be killed. */
async function orphan() {
  const { path } = host().session.directories.records;
  const script = join(host().world.home, "parent.ts");
  writeFileSync(
    script,
    `
      import { openSession, launch, canDelegate, parseArtifactName, parseArtifactVersion } from "${join(import.meta.dir, "../../../src/runtime/index.ts")}";
      const { value: session } = await openSession();
      const asked = { name: parseArtifactName("local/worker"), version: parseArtifactVersion("0.1.0"), contextId: "ctx_1" };
      const { child } = await launch(session, asked);
      const { pid, door, workdir, records } = child;
      console.log(JSON.stringify({ pid, door, workdir: workdir.path, records: records.value.path }));
      setInterval(() => {}, 1 << 30);
    `,
  );
  const program = join(import.meta.dir, "plain-worker-program.ts");
  const binary = writeChild(host().world.home, "plain", `exec '${process.execPath}' '${program}' "$@"`);
  const parent = Bun.spawn([process.execPath, script, ...runArguments(path)], {
    env: { ...host().session.environment, MURMUR_MUR_BINARY: binary } as Record<string, string>,
    stdio: ["ignore", "pipe", "inherit"],
  });
  endAfterTest(parent);
  const { value } = await parent.stdout.getReader().read();
  const { pid, door, workdir, records } = JSON.parse(Buffer.from(value ?? []).toString());
  return {
    pid: Number(pid),
    door: new URL(door) as DoorUrl,
    workdir: String(workdir),
    /** Kills the parent. The worker's events, once it is gone too. */
    async orphaned(): Promise<unknown[]> {
      parent.kill("SIGKILL");
      await parent.exited;
      await until("its child has gone", () => processesOf(workdir).length === 0);
      const lines = readFileSync(join(records, "trace.jsonl"), "utf8").trimEnd().split("\n");
      return lines.map((line) => JSON.parse(line));
    },
  };
}

test("a session whose spawner is killed says so before its end event", async () => {
  const { orphaned } = await orphan();
  expect(await orphaned()).toMatchObject([
    START,
    { event: "spawner_ended" },
    { event: "session_end", exit_status: "ok" },
  ]);
});

test("a session that its own program is ending does not say that its spawner was killed meanwhile", async () => {
  const { pid, door, workdir, orphaned } = await orphan();
  const given = userMessage("msg_1", "slow");
  const taken = await callDoor({ door, id: "1", method: "SendMessage", params: given }, patientClock);
  expect(taken.kind).toBe("result");
  // A task that is cancelled before it has begun is not run.
  await until("it has begun", () => existsSync(join(workdir, "begun")));
  process.kill(pid, "SIGUSR2");
  await until("it is winding down", () => existsSync(join(workdir, "winding-down")));
  expect(await orphaned()).toMatchObject([START, { event: "session_end", exit_status: "canceled" }]);
});
