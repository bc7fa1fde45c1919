/** Where the record that a launcher writes says that the result is. It says so for readers: nothing is read through it. */

import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { runCapsuleStep } from "../../../src/runtime/delegation/capsule-step.ts";
import { rawServers, reply } from "../../kit/raw-server.ts";
import { continued, misdeed, recordOf, recordsOf, started } from "./driving.ts";
import { sharedHost } from "./shared-host.ts";
import { STAY, says } from "./shell-child.ts";
import { stepsOf } from "./steps.ts";
import type { Misdeeds } from "./worker-misdeeds.ts";

const host = sharedHost();
const { step, traced, withChild } = stepsOf(host);
const serve = rawServers();

/** The record of a worker that crashed, and where its result belongs. */
async function crashed(left: Pick<Misdeeds, "result">) {
  const task = host().task();
  const child = await started(task, misdeed({ ...left, lastly: { exit: 3 } }));
  await continued(task);
  const { home } = host().world;
  return { record: recordOf(home, child), result: join(recordsOf(home, child), "out", "result.txt") };
}

describe("the path of an agent's result is in the record", () => {
  test("if it crashed", async () => {
    const { record, result } = await crashed({ result: { kind: "file", text: "half an answer" } });
    expect(record).toMatchObject({ status: "crashed", reported_by: "launcher", result_path: result });
  });

  test("if it was ended", async () => {
    const state = { id: "tsk_1", status: { state: "TASK_STATE_FAILED" } };
    const door = await serve((socket) =>
      reply(200, JSON.stringify({ result: { ...state, task: state } }))(socket),
    );
    const agent = withChild(
      "ended",
      'printf x > "$records/out/result.txt"; mkdir out; printf y > out/result.txt',
      says(`127.0.0.1:${door.port}`),
      STAY,
    );
    await runCapsuleStep(agent, step("x"));
    const { record, session, workdir } = traced();
    const result_path = join(host().world.home, ".murmur", "records", workdir, session, "out", "result.txt");
    expect(record).toMatchObject({ status: "terminated", reported_by: "launcher", result_path });
  });
});

test.each<[string, Pick<Misdeeds, "result">]>([
  ["nothing", {}],
  ["a link", { result: { kind: "link", to: "/etc/hostname" } }],
  ["a folder that is a link", { result: { kind: "folder-link", to: "/etc" } }],
  ["a FIFO", { result: { kind: "fifo" } }],
])("there is no path in the record of an agent that left %s in its place", async (_, left) => {
  const { record } = await crashed(left);
  expect(record).toMatchObject({ status: "crashed", reported_by: "launcher" });
  expect(record).not.toHaveProperty("result_path");
});

test("a script's result is in its work folder", async () => {
  const elsewhere = 'printf x > "$records/out/result.txt"';
  const own = "mkdir out; printf y > out/result.txt";
  await runCapsuleStep(withChild("crashed", elsewhere, own, says(""), "exit 4"), step("x"));
  const { record, workdir } = traced();
  expect(record).toMatchObject({ status: "crashed", result_path: join(workdir, "out", "result.txt") });

  await runCapsuleStep(withChild("crashed", elsewhere, says(""), "exit 4"), step("x"));
  const none = traced();
  expect(none.record).toMatchObject({ status: "crashed", reported_by: "launcher" });
  expect(none.record).not.toHaveProperty("result_path");
});
