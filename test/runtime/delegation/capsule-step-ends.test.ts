/** Steps that give no answer: in time, because of their child, or because their task was cancelled. */

import { describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { runCapsuleStep } from "../../../src/runtime/delegation/capsule-step.ts";
import type { RegisteredSession } from "../../../src/runtime/index.ts";
import { openFiles } from "../../kit/folders.ts";
import { manualClock } from "../../kit/manual-clock.ts";
import { rawServer, reply } from "../../kit/raw-server.ts";
import { until } from "../../kit/until.ts";
import { coordinates } from "../parent.ts";
import { sharedHost } from "./shared-host.ts";
import { records, STAY, says } from "./shell-child.ts";
import { stepsOf, WORKER } from "./steps.ts";

const host = sharedHost();
const { left, step, traced, withChild, withEnvironment } = stepsOf(host);

describe("a step that gives no answer", () => {
  test("in time has timed out and names the bound, and its child's later report is replaced", async () => {
    const session = withEnvironment({ MURMUR_DELEGATION_TIMEOUT_SECS: "7" });
    const clock = manualClock(Date.now());
    const running = runCapsuleStep({ ...session, clock }, step("forever"));
    // Its deadline, and the step of an exchange or the pause before the next poll.
    await until("it is asked for", () => clock.waiting() === 2 && left().length > 0);
    await clock.advance(7_000);
    expect(await running).toEqual({
      kind: "timed_out",
      text: `${WORKER} gave no answer within 7s`,
      sentence: `capsule step ${WORKER} (bound: 7s) timed out: ${WORKER} gave no answer within 7s`,
    });
    expect(left()).toEqual([]);
    const { close, record } = traced();
    expect(close?.outcome).toBe("timed_out");
    expect(record).toMatchObject({ status: "terminated", reported_by: "launcher", delivered: false });
    expect(record.detail).toStartWith("still running at its deadline of 7s");
  });

  test("because its task cannot be sent has failed, and its child is ended", async () => {
    const outcome = await runCapsuleStep(host().session, { ...step(""), task: 5n as unknown as string });
    expect(outcome).toMatchObject({ kind: "failed", text: expect.stringContaining("BigInt") });
    expect(left()).toEqual([]);
    const { close, record } = traced();
    expect(close).toMatchObject({ outcome: "failed", reason: outcome.text });
    expect(record).toMatchObject({ status: "terminated", reported_by: "launcher" });
  });

  test.each<[string, string, string, object]>([
    [
      "its task failed",
      "fail:no luck",
      "the task of local/worker@0.1.0 ended TASK_STATE_FAILED",
      { status: "error", reported_by: "child", detail: "no luck" },
    ],
    [
      "it crashed",
      "crash",
      "local/worker@0.1.0 ended before it answered, exit status: 3",
      { status: "crashed", reported_by: "launcher", detail: expect.stringContaining("last words") },
    ],
    [
      "it was killed in the middle of its record",
      "half",
      "local/worker@0.1.0 ended before it answered, signal: 9 (SIGKILL)",
      { status: "crashed", reported_by: "launcher", detail: "signal: 9 (SIGKILL)" },
    ],
  ])("as %s has failed, and its record says how", async (_, task, text, recorded) => {
    const outcome = await runCapsuleStep(host().session, step(task));
    expect(outcome).toEqual({
      kind: "failed",
      text,
      sentence: `capsule step ${WORKER} (bound: 600s) failed: ${text}`,
    });
    const { record } = traced();
    expect(record).toMatchObject(recorded);
  });

  test("because its child exits with its task says what to declare", async () => {
    const door = await rawServer((socket) =>
      reply(200, JSON.stringify({ result: { task: { id: "tsk_1", status: {} } } }))(socket),
    );
    const session = withChild("exits", says(`127.0.0.1:${door.port}`), records("ok"), "sleep 0.1");
    const { kind, text } = await runCapsuleStep(session, step("x"));
    await door.close();
    expect(kind).toBe("failed");
    expect(text).toContain("exit status: 0");
    expect(text).toContain("lifecycle.after_task");
  });

  test("but one longer than the reading limit has failed at once", async () => {
    const large = reply(200, JSON.stringify({ result: "x".repeat(66 * 1024 ** 2) }));
    let asked = 0;
    const door = await rawServer((socket) =>
      asked++ === 0
        ? reply(200, JSON.stringify({ result: { task: { id: "tsk_1", status: {} } } }))(socket)
        : large(socket),
    );
    const session = withChild("long", says(`127.0.0.1:${door.port}`), STAY);
    const { kind, text } = await runCapsuleStep(session, step("x"));
    await door.close();
    expect({ kind, text }).toEqual({
      kind: "failed",
      text: `${WORKER} could not be asked for its answer: the answer is longer than 68157440 bytes`,
    });
    expect(asked).toBe(2);
    expect(left()).toEqual([]);
  });

  test("because it was refused gives the daemon's sentence, the capsule and the bound", async () => {
    const text = "capsule 'local/king' is not in parent's spawn_allow";
    expect(await runCapsuleStep(host().session, { ...step("x"), ...coordinates("local/king") })).toEqual({
      kind: "refused",
      text,
      sentence: `capsule step local/king@0.1.0 (bound: 600s) was refused: ${text}`,
    });
    const refused = { event: "delegation", outcome: "refused", reason: text, delegation_id: null };
    expect(host().trace()).toMatchObject([refused]);
  });

  test("because there is no daemon address fails", async () => {
    const alone = { ...host().session, registration: undefined, environment: {} };
    const text = "MURMUR_ROOST_URL is not set; capsule steps require mur-roost";
    expect(await runCapsuleStep(alone, step("x"))).toMatchObject({
      kind: "failed",
      text,
      sentence: `capsule step ${WORKER} (bound: 600s) failed: ${text}`,
    });
    expect(host().trace()).toMatchObject([{ event: "delegation", outcome: "failed", reason: text }]);
  });
});

describe("a step of a cancelled task", () => {
  const CANCELED = {
    kind: "canceled",
    text: `${WORKER} was ended: the delegating task was cancelled`,
    sentence: `capsule step ${WORKER} (bound: 600s) was cancelled: ${WORKER} was ended: the delegating task was cancelled`,
  } as const;

  test("waits for no timer if its child exits: neither for the next poll nor for the bound", async () => {
    // This clock is never moved.
    const clock = manualClock(Date.now());
    const cancel = new AbortController();
    const running = runCapsuleStep({ ...host().session, clock }, step("forever", cancel.signal));
    // Its deadline, and the step of an exchange or the pause before the next poll.
    await until("it is asked for", () => clock.waiting() === 2 && left().length > 0);
    cancel.abort();
    expect(await running).toEqual(CANCELED);
    expect(left()).toEqual([]);
    await until("no timer is left", () => clock.waiting() === 0);
    const { close, record, session } = traced();
    // Its slot is free again.
    expect(await host().session.registration.client.status(session)).toMatchObject({
      value: { status: expect.not.stringMatching("running") },
    });
    expect(close).toMatchObject({ outcome: "canceled", reason: CANCELED.text });
    expect(record).toMatchObject({
      status: "terminated",
      reported_by: "launcher",
      detail: "the parent ended this delegation",
    });
  });

  /** A step whose child does not go: what there is once it has returned, a second after its cancel. */
  async function stubborn(session: RegisteredSession, task: string, ready: () => boolean) {
    const descriptors = openFiles();
    const clock = manualClock(Date.now());
    const cancel = new AbortController();
    let outcome: Awaited<ReturnType<typeof runCapsuleStep>> | undefined;
    void runCapsuleStep({ ...session, clock }, step(task, cancel.signal)).then((end) => {
      outcome = end;
    });
    await until("its child is there", () => left().length === 1 && ready());
    const [pid = 0] = left();
    cancel.abort();
    await clock.advance(1_000);
    await until("it has returned", () => outcome !== undefined);
    expect(outcome).toEqual(CANCELED);
    const trace = host().trace();
    expect(left()).toContain(pid);
    await until("its grace runs", () => clock.waiting() === 1);
    await clock.advance(5_000);
    await until("it was killed", () => left().length === 0);
    await until("nothing of it is open", () => openFiles() <= descriptors && clock.waiting() === 0);
    expect(host().trace()).toEqual([]);
    return trace;
  }

  test("returns within a second if its child hangs, and the child is killed after its grace", async () => {
    const marker = join(host().world.home, "hung");
    const trace = await stubborn(host().session, `hang:${marker}`, () => existsSync(marker));
    expect(trace).toMatchObject([{ event: "delegation_start" }, { outcome: "canceled" }]);
  });

  test("returns within a second if its child is not ready and ignores SIGTERM", async () => {
    const marker = join(host().world.home, "deaf-by-now");
    const session = withChild("deaf", "trap '' TERM", `: > '${marker}'`, STAY);
    const trace = await stubborn(session, "x", () => existsSync(marker));
    // It had a delegation id, but never said its session id.
    const closed = { event: "delegation", outcome: "canceled", child_session_id: null };
    expect(trace).toMatchObject([{ ...closed, delegation_id: expect.stringMatching(/^dlg_/) }]);
  });

  test("that was cancelled before the step began starts nothing", async () => {
    expect(await runCapsuleStep(host().session, step("x", AbortSignal.abort()))).toEqual(CANCELED);
    expect(host().trace()).toMatchObject([{ outcome: "canceled", delegation_id: null }]);
    expect(left()).toEqual([]);
  });
});
