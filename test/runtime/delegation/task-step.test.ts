/** A plan's `capsule` step as part of its task. */

import { beforeEach, expect, test } from "bun:test";
import { until } from "../../kit/until.ts";
import { coordinates } from "../parent.ts";
import { processesOf } from "../world.ts";
import { started } from "./driving.ts";
import { turns } from "./played.ts";
import { sharedHost } from "./shared-host.ts";

const host = sharedHost();
beforeEach(() => void host().trace());

const step = (task: string) => ({ ...coordinates("local/worker"), task });

test("a step is in flight from the start of its process until it returns", async () => {
  const task = host().task();
  const running = task.step(step("say:an answer"));
  await until("its process has started", () => task.inFlight().length === 1);
  const [id] = task.inFlight();
  expect(await running).toMatchObject({ kind: "completed", text: "an answer" });
  expect(task.inFlight()).toEqual([]);
  expect(host().trace()).toMatchObject([
    { event: "delegation_start", delegation_id: id },
    { event: "delegation", delegation_id: id, outcome: "completed" },
  ]);
});

test("a step is cancelled with its task, and listed with the task's delegations", async () => {
  const task = host().task();
  const child = await started(task, "forever");
  const running = task.step(step("forever"));
  await until("both are in flight", () => task.inFlight().length === 2);
  const ids = task.inFlight();
  expect(ids).toContain(child.delegation_id);
  expect(await task.cancel()).toEqual({ delegations: ids });
  expect(await running).toMatchObject({ kind: "canceled" });
  expect(task.inFlight()).toEqual([]);
  expect(
    host()
      .trace()
      .find(({ event }) => event === "task_canceled"),
  ).toMatchObject({ delegations: ids });
  expect(await task.step(step("say:too late"))).toMatchObject({ kind: "canceled" });
});

test("a cancel waits for the end of a child that the step does not wait for", async () => {
  const { clock, task } = host().clocked();
  const running = task.step(step("deaf"));
  await until("it is deaf", () => host().written().includes("deaf from here on"));
  const ids = task.inFlight();
  const canceling = task.cancel();
  const settling = task.settle({ kind: "finished", turnsLeft: 1 }, () => {});
  let over = 0;
  for (const one of [canceling, settling]) void one.then(() => over++);
  await turns();
  await clock.advance(900);
  expect(await running).toMatchObject({ kind: "canceled" });
  await clock.advance(4_099);
  expect([over, processesOf(host().session.id).length]).toEqual([0, 1]);
  await clock.advance(1);
  expect(await canceling).toEqual({ delegations: ids });
  expect(await settling).toEqual({ kind: "done" });
  expect(processesOf(host().session.id)).toEqual([]);
  expect(task.inFlight()).toEqual([]);
  await until("no timer is left", () => clock.waiting() === 0);
});
