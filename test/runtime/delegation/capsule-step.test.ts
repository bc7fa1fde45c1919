import { afterAll, beforeAll, expect, test } from "bun:test";
import { runCapsuleStep } from "../../../src/runtime/delegation/capsule-step.ts";
import { until } from "../../kit/until.ts";
import { coordinates } from "../parent.ts";
import { processesOf } from "../world.ts";
import { type Host, openHost } from "./host.ts";

let host: Host;
beforeAll(async () => {
  host = await openHost();
}, 60_000);
afterAll(() => host.stop());

const step = (task: string, signal = new AbortController().signal) => ({
  ...coordinates("local/worker"),
  task,
  contextId: "ctx_1",
  signal,
});
const left = () => processesOf(host.session.directories.records.path);

test("gives the child's answer, and its child is gone", async () => {
  expect(await runCapsuleStep(host.session, step("sleep:an answer"))).toEqual({
    kind: "completed",
    text: "an answer",
  });
  expect(left()).toEqual([]);
  expect(host.trace()).toMatchObject([
    { event: "delegation_start" },
    { event: "delegation", outcome: "completed", reason: null },
  ]);
});

test("times out with the bound named", async () => {
  const environment = { ...host.session.environment, MURMUR_DELEGATION_TIMEOUT_SECS: "1" };
  const outcome = await runCapsuleStep({ ...host.session, environment }, step("forever"));
  expect(outcome).toEqual({ kind: "timed_out", text: "local/worker@0.1.0 gave no answer within 1s" });
  expect(left()).toEqual([]);
});

test("is over when its task is cancelled", async () => {
  const cancel = new AbortController();
  const running = runCapsuleStep(host.session, step("forever", cancel.signal));
  await until("the child runs", () => left().length > 0);
  cancel.abort();
  expect(await running).toMatchObject({ kind: "canceled" });
  await until("the child is gone", () => left().length === 0);
});

test("refused, and without a daemon's address", async () => {
  const refused = await runCapsuleStep(host.session, { ...step("x"), ...coordinates("local/king") });
  expect(refused.kind).toBe("refused");
  const alone = { ...host.session, registration: undefined, environment: {} };
  expect(await runCapsuleStep(alone, step("x"))).toEqual({
    kind: "failed",
    text: "MURMUR_ROOST_URL is not set; capsule steps require mur-roost",
  });
});
