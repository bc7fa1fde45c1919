/** Calls of a task, the delegations that it leaves behind, and those that it waits for. */

import { beforeEach, describe, expect, test } from "bun:test";
import { existsSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { CompletionDoor, TaskDelegations } from "../../../src/runtime/index.ts";
import { noMoreFilesThan, openFiles } from "../../kit/folders.ts";
import { manualClock } from "../../kit/manual-clock.ts";
import { until } from "../../kit/until.ts";
import { processesOf } from "../world.ts";
import { recordOf, started } from "./driving.ts";
import { sharedHost } from "./shared-host.ts";

const host = sharedHost();
beforeEach(() => void host().trace());

describe("a call", () => {
  test("for a capsule that is not granted returns a plain sentence", async () => {
    const result = await host().task().call({ capsule: "king", version: "0.1.0", task: "x" });
    expect(result).toEqual({
      kind: "refused",
      text: "capsule must be one of worker (capabilities.spawn.allow)",
    });
  });

  test("that the daemon refuses returns the daemon's sentence and writes a trace line", async () => {
    const result = await host().task().call({ capsule: "worker", version: "latest", task: "x" });
    expect(result.kind).toBe("refused");
    expect(result.text).not.toStartWith("{");
    expect(host().trace()).toMatchObject([
      {
        event: "delegation",
        delegation_id: null,
        child_session_id: null,
        outcome: "refused",
        reason: result.text,
      },
    ]);
  });

  test("for a child that does not accept its task ends the child", async () => {
    const task = host().task({ deliver: async () => ({ ok: false, fault: "it rejected the task" }) });
    const result = await task.call({ capsule: "worker", version: "0.1.0", task: "x" });
    expect(result.kind).toBe("failed");
    const object = JSON.parse(result.text);
    expect(object).toMatchObject({ capsule: "worker", status: "failed" });
    expect(object.output).toContain("it rejected the task");
    expect(object.child_workdir).toBeUndefined();
    expect(processesOf(host().session.id)).toEqual([]);
    expect(
      host()
        .trace()
        .map(({ outcome }) => outcome),
    ).toEqual([undefined, "failed"]);
  });
});

test.each<[string, (door: CompletionDoor) => CompletionDoor | undefined]>([
  ["left out", () => undefined],
  [
    "broken",
    (door) => ({
      ...door,
      await() {
        throw new Error("the door is broken");
      },
    }),
  ],
])("a call of a task whose door is %s ends its child, and leaves its line", async (_, broken) => {
  const before = openFiles();
  const task = host().task({ door: broken(host().door) as CompletionDoor });
  const { kind, text } = await task.call({ capsule: "worker", version: "0.1.0", task: "forever" });
  const { delegation_id, output } = JSON.parse(text);
  expect([kind, output]).toEqual(["failed", expect.stringContaining("did not take its task: ")]);
  expect(processesOf(host().session.id)).toEqual([]);
  expect(task.inFlight()).toEqual([]);
  expect(host().trace()).toMatchObject([
    { event: "delegation_start", delegation_id },
    { event: "delegation", delegation_id, outcome: "failed" },
  ]);
  await noMoreFilesThan(before);
});

describe("a delegation that a task leaves behind", () => {
  const ends: [string, (task: TaskDelegations) => Promise<unknown>, string][] = [
    ["cancelled", (task) => task.cancel(), "the delegating task was cancelled"],
    [
      "without a turn left",
      (task) => task.settle({ kind: "finished", turnsLeft: 0 }, () => {}),
      "the delegating task had no inference turn left to read this outcome",
    ],
    [
      "failed",
      (task) => task.settle({ kind: "ended", exitStatus: "error" }, () => {}),
      "the delegating task ended error before this sub-capsule finished",
    ],
  ];
  test.each(ends)("is ended if the task was %s", async (_, end, reason) => {
    const before = openFiles();
    const task = host().task();
    const child = await started(task, "forever");
    await end(task);
    expect(processesOf(child.child_workdir)).toEqual([]);
    expect(recordOf(host().world.home, child)).toMatchObject({
      status: "terminated",
      reported_by: "launcher",
      delivered: false,
      detail: "the parent ended this delegation",
    });
    const closed = host()
      .trace()
      .filter(({ event }) => event === "delegation");
    expect(closed).toMatchObject([{ outcome: "terminated", reason }]);
    await noMoreFilesThan(before);
  });

  test("is named by a cancel before it is ended, also while the task waits", async () => {
    const task = host().task();
    const children = [await started(task, "forever"), await started(task, "forever")];
    const said: string[] = [];
    const settling = task.settle({ kind: "finished", turnsLeft: 3 }, (status) => said.push(status));
    await until("it waits", () => said.length === 1);
    const ids = children.map((child) => child.delegation_id);
    expect(await task.cancel()).toEqual({ delegations: ids });
    expect(await settling).toEqual({ kind: "done" });
    expect(said).toEqual(["waiting on delegate-task: 2 delegation(s) outstanding"]);
    expect(
      host()
        .trace()
        .find(({ event }) => event === "task_canceled"),
    ).toMatchObject({ delegations: ids });
  });

  test("does not exist if its launch is aborted at its start", async () => {
    const task = host().task();
    const calling = task.call({ capsule: "worker", version: "0.1.0", task: "forever" });
    await task.cancel();
    expect((await calling).kind).toBe("failed");
    expect(processesOf(host().session.directories.records.path)).toEqual([]);
    expect((await task.call({ capsule: "worker", version: "0.1.0", task: "x" })).kind).toBe("failed");
  });

  test.each(ends)("is not waited for while it is still launching, if the task was %s", async (_, end) => {
    const silent = join(host().world.home, "silent");
    writeFileSync(silent, '#!/bin/sh\ntouch "$HOME/started"\nexec sleep 1000\n', { mode: 0o755 });
    const environment = { ...host().session.environment, MURMUR_MUR_BINARY: silent };
    const task = host().task({ session: { ...host().session, environment } });
    const begun = join(host().world.home, "started");
    rmSync(begun, { force: true });
    const calling = task.call({ capsule: "worker", version: "0.1.0", task: "x" });
    await until("its child has started", () => existsSync(begun));
    await end(task);
    const { kind, text } = await calling;
    expect([kind, JSON.parse(text).output]).toEqual(["failed", expect.stringContaining("was given up")]);
    const closed = host()
      .trace()
      .filter(({ event }) => event === "delegation");
    expect(closed).toMatchObject([{ outcome: "failed" }]);
  });
});

describe("a round", () => {
  test("of several delegations is counted down and reported once, in launch order", async () => {
    const task = host().task();
    const gate = join(host().world.home, "gate");
    const [slow, killed, quick] = [
      await started(task, `when:${gate}`),
      await started(task, "forever"),
      await started(task, "say:quick"),
    ];
    if (!slow || !killed || !quick) throw new Error("not started");
    const said: string[] = [];
    const settling = task.settle({ kind: "finished", turnsLeft: 1 }, (status) => said.push(status));
    await until("the quick one is closed", () => task.inFlight().length === 2);
    for (const pid of processesOf(killed.child_workdir)) process.kill(pid, "SIGKILL");
    await until("the killed one is closed", () => task.inFlight().length === 1);
    writeFileSync(gate, "");
    const settled = await settling;
    if (settled.kind !== "continue") throw new Error(settled.kind);
    expect(settled.delegations).toEqual([slow.delegation_id, killed.delegation_id, quick.delegation_id]);
    expect(settled.text.match(/ended \w+:/g)).toEqual(["ended ok:", "ended crashed:", "ended ok:"]);
    expect(said.slice(-3)).toEqual([
      "waiting on delegate-task: 2 delegation(s) outstanding",
      "waiting on delegate-task: 1 delegation(s) outstanding",
      "continuing with 3 delegation outcome(s)",
    ]);
    expect(await task.settle({ kind: "finished", turnsLeft: 1 }, () => {})).toEqual({ kind: "done" });
  });

  test("continues despite completions that another process forges", async () => {
    const task = host().task();
    const gate = join(host().world.home, "forged");
    const child = await started(task, `when:${gate}`);
    const posted = await fetch(host().url, {
      method: "POST",
      headers: {
        "x-murmur-task-origin": "completion",
        "x-murmur-delegation-id": child.delegation_id,
        "x-murmur-completion-session": host().session.id,
      },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "SendMessage", params: {} }),
    });
    expect(await posted.json()).toMatchObject({ result: { received: true } });
    const settling = task.settle({ kind: "finished", turnsLeft: 1 }, () => {});
    expect(task.inFlight()).toEqual([child.delegation_id]);
    writeFileSync(gate, "");
    expect(await settling).toMatchObject({
      kind: "continue",
      text: expect.stringContaining("result:\nat last\n"),
    });
  });

  test("ends at a deadline, which is given in seconds", async () => {
    const environment = { ...host().session.environment, MURMUR_DELEGATION_TIMEOUT_SECS: "1" };
    const clock = manualClock(Date.now());
    const task = host().task({ session: { ...host().session, environment, clock } });
    const child = await started(task, "forever");
    const settling = task.settle({ kind: "finished", turnsLeft: 1 }, () => {});
    await clock.advance(1_000);
    expect(await settling).toMatchObject({
      text: expect.stringContaining("\ndetail: still running at its deadline of 1s"),
    });
    expect(recordOf(host().world.home, child)).toMatchObject({
      status: "terminated",
      reported_by: "launcher",
      delivered: true,
    });
  });
});
