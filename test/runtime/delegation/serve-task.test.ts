/** The child's half, in a process of its own: its door, its one task, and how it reports the outcome. */

import { describe, expect, test } from "bun:test";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { callDoor, userMessage } from "../../../src/runtime/delegation/a2a.ts";
import { deliverTask } from "../../../src/runtime/delegation/hand-over.ts";
import { windDownOver } from "../../../src/runtime/delegation/serve-task.ts";
import {
  type DoorUrl,
  endAll,
  type LaunchedChild,
  launch,
  parseDoorUrl,
  type Secret,
} from "../../../src/runtime/index.ts";
import { leasePort } from "../../kit/leased-port.ts";
import { manualClock } from "../../kit/manual-clock.ts";
import { patientClock } from "../../kit/patient-clock.ts";
import { rawServer } from "../../kit/raw-server.ts";
import { until } from "../../kit/until.ts";
import { coordinates } from "../parent.ts";
import { continued, misdeed, recordOf, recordsOf, started } from "./driving.ts";
import { sharedHost } from "./shared-host.ts";

const host = sharedHost();

interface Serving {
  readonly door: DoorUrl;
  readonly token: Secret | undefined;
}

/** A request of somebody who has the token. */
function ask({ door, token }: Serving, method: string, params: object) {
  return callDoor({ door, id: "1", method, params, token }, patientClock);
}

async function stateOf(serving: Serving, id: string): Promise<unknown> {
  const reply = await ask(serving, "GetTask", { id });
  return reply.kind === "result" ? (reply.result as { status: { state: string } }).status.state : reply;
}

/** A child that is ready and has no task; it has somebody to report to where a door is given. */
async function ready(completionDoor?: DoorUrl) {
  const asked = { ...coordinates("local/worker"), contextId: "ctx_1" };
  const outcome = await launch(host().session, { ...asked, ...(completionDoor && { completionDoor }) });
  if (outcome.kind !== "launched") throw new Error(JSON.stringify(outcome));
  const { child } = outcome;
  if (!child.door || !child.records.ok) throw new Error("no door or no records");
  return {
    child,
    serving: { door: child.door, token: child.operatorToken },
    records: child.records.value.path,
  };
}

/** Ends it; its own record. */
async function end(child: LaunchedChild, records: string): Promise<Record<string, unknown>> {
  await endAll([child], patientClock);
  child.release();
  return JSON.parse(readFileSync(join(records, "completion.json"), "utf8"));
}

describe("the door of a child", () => {
  test("checks its token, accepts one task, reports its state, and can cancel it", async () => {
    const { child, serving, records } = await ready();
    const body = (method: string) => JSON.stringify({ jsonrpc: "2.0", id: 1, method, params: {} });
    const post = (headers: Record<string, string>, text = body("GetTask")) =>
      fetch(serving.door, {
        method: "POST",
        headers: { "content-type": "application/json", ...headers },
        body: text,
      });
    expect((await post({})).status).toBe(401);
    const token = serving.token?.reveal() ?? "";
    for (const authorization of ["Bearer guessed", "Bearer ", token, `bearer ${token}`, `Bearer ${token}x`]) {
      expect((await post({ authorization })).status).toBe(401);
    }
    // No other process can listen on its port.
    const port = Number(new URL(serving.door).port);
    const share = () =>
      Bun.serve({ hostname: "127.0.0.1", port, reusePort: true, fetch: () => new Response() });
    expect(share).toThrow(/in use/);
    // A completion is answered ahead of the token.
    const completion = await post({ "x-murmur-task-origin": "completion" }, body("SendMessage"));
    expect(await completion.json()).toMatchObject({ error: { code: -31001 } });

    const none = { kind: "error", code: -32001 };
    expect(await ask(serving, "GetTask", { id: "tsk_none" })).toMatchObject(none);
    expect(await ask(serving, "ListTasks", {})).toMatchObject({ kind: "error", code: -32601 });
    expect(await ask(serving, "SendMessage", {})).toMatchObject({ kind: "error", code: -32602 });
    expect(await ask(serving, "SendMessage", { message: { messageId: "m", parts: [] } })).toMatchObject({
      kind: "error",
      code: -32602,
    });

    const send = (id: string, text: string) => ask(serving, "SendMessage", userMessage(id, text));
    const taken = await send("msg_1", "forever");
    if (taken.kind !== "result") throw new Error(JSON.stringify(taken));
    const { task } = taken.result as { task: { id: string } };
    expect(taken.result).toMatchObject({ task: { status: { state: "TASK_STATE_WORKING" } } });
    expect(await send("msg_1", "forever")).toEqual(taken);
    expect(await send("msg_2", "say:two")).toMatchObject({ kind: "error", code: -32004 });
    expect(await ask(serving, "GetTask", { id: "tsk_none" })).toMatchObject(none);
    expect(await ask(serving, "CancelTask", { id: "tsk_none" })).toMatchObject(none);
    expect(await stateOf(serving, task.id)).toBe("TASK_STATE_WORKING");
    await ask(serving, "CancelTask", { id: task.id });
    await until("it is cancelled", async () => (await stateOf(serving, task.id)) === "TASK_STATE_CANCELED");
    expect(await end(child, records)).toMatchObject({
      status: "error",
      reported_by: "child",
      detail: "the task was cancelled before it was done",
    });
  });

  test("accepts no task once the child is being ended", async () => {
    const silent = await rawServer(() => {});
    const { child, serving, records } = await ready(parseDoorUrl(silent.url));
    child.signal("SIGTERM");
    // It waits for the answer to its completion.
    await until("it reports", () => silent.received().includes("status: error"));
    expect(await ask(serving, "SendMessage", userMessage("msg_1", "say:an answer"))).toEqual({
      kind: "error",
      code: -32004,
      message: "this capsule is being ended",
    });
    await silent.close();
    expect(await end(child, records)).toMatchObject({
      status: "error",
      detail: "the session was ended before its task was done",
    });
    expect(existsSync(join(records, "out"))).toBe(false);
  });
});

describe("a task that is cancelled", () => {
  test("has ended in error, whatever its run returns", async () => {
    const gate = join(host().world.home, "gate-of-the-cancelled");
    let serving: (Serving & { readonly id: string }) | undefined;
    const task = host().task({
      deliver: async (delivery, clock) => {
        const held = await deliverTask(delivery, clock);
        if (held.ok) serving = { ...delivery, id: held.value };
        return held;
      },
    });
    const answer = { end: { status: "ok", answer: "at last" } } as const;
    const begun = { kind: "file", text: "not yet" } as const;
    const child = await started(task, misdeed({ result: begun, until: gate, lastly: answer }));
    await until("it has begun", () =>
      existsSync(join(recordsOf(host().world.home, child), "out", "result.txt")),
    );
    if (!serving) throw new Error("nothing was delivered");
    expect(await ask(serving, "CancelTask", { id: serving.id })).toMatchObject({ kind: "result" });
    writeFileSync(gate, "");
    const { text } = await continued(task);
    expect(text).toContain("ended error:");
    expect(text).toContain("\nresult:\nat last");
    expect(recordOf(host().world.home, child)).toMatchObject({
      status: "error",
      detail: "the task was cancelled before it was done",
      delivered: true,
    });
  });

  test("but finished earlier keeps its status", async () => {
    const { child, serving, records } = await ready();
    const taken = await ask(serving, "SendMessage", userMessage("msg_1", "say:an answer"));
    const { id } = (taken as { result: { task: { id: string } } }).result.task;
    await until("it is done", async () => (await stateOf(serving, id)) === "TASK_STATE_COMPLETED");
    await ask(serving, "CancelTask", { id });
    expect(await stateOf(serving, id)).toBe("TASK_STATE_COMPLETED");
    expect(await end(child, records)).toMatchObject({ status: "ok", delivered: false });
  });
});

test("a wind-down that a signal by hand has begun is over 4 s after the spawner's own signal", async () => {
  const clock = manualClock();
  const hurry = new AbortController();
  let isOver = false;
  void windDownOver({ clock, hurry }).then(() => {
    isOver = true;
  });
  await clock.advance(10_000);
  hurry.abort();
  await clock.advance(3_999);
  expect(isOver).toBe(false);
  await clock.advance(1);
  expect(isOver).toBe(true);
});

test("a completion that reaches nobody causes one line, and its launcher delivers it", async () => {
  await using nobody = await leasePort();
  const doorUrl = parseDoorUrl(nobody.url);
  if (!doorUrl) throw new Error("no door");
  const task = host().task({ doorUrl });
  const child = await started(task, "say:an answer");
  const { text } = await continued(task);
  expect(text).toContain("ended ok:");
  const record = recordOf(host().world.home, child);
  expect(record).toMatchObject({ status: "ok", reported_by: "child", delivered: true });
  expect(record).not.toHaveProperty("delivery_error");
  const lines = () =>
    host()
      .written()
      .split("\n")
      .filter((line) =>
        line.includes(`the completion of delegation ${child.delegation_id} was not delivered: `),
      );
  await until("its line is there", () => lines().length > 0);
  expect(lines()).toHaveLength(1);
});
