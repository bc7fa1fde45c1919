/** A task that is cancelled while its child does not react, or while it has nothing to wait for. */

import { describe, expect, test } from "bun:test";
import { runCapsuleStep } from "../../../src/runtime/delegation/capsule-step.ts";
import { manualClock } from "../../kit/manual-clock.ts";
import { rawServer } from "../../kit/raw-server.ts";
import { until } from "../../kit/until.ts";
import { coordinates } from "../parent.ts";
import { processesOf } from "../world.ts";
import { closings } from "./closings.ts";
import { sharedHost } from "./shared-host.ts";
import { PRELUDE, STAY, says, writeChild } from "./shell-child.ts";
import { sharedShellDoor } from "./shell-door.ts";

const host = sharedHost();
const door = sharedShellDoor();
const { closedOnce, standing } = closings(host);

describe("while its child", () => {
  const call = { capsule: "worker", version: "0.1.0", task: "x" };

  /** The session on a clock that only the test moves, its children a script of these lines behind a door. */
  function onManualClock(
    port: number,
    lines: readonly string[],
    more: Readonly<Record<string, string>> = {},
  ) {
    const binary = writeChild(
      host().world.home,
      "held",
      ...PRELUDE,
      ...lines,
      says(`127.0.0.1:${port}`),
      STAY,
    );
    const environment = { ...host().session.environment, MURMUR_MUR_BINARY: binary, ...more };
    const clock = manualClock(Date.now());
    return { clock, session: { ...host().session, environment, clock } };
  }

  test.each(["call", "step"])(
    "does not answer the request with its task, a %s waits for nothing",
    async (kind) => {
      const before = await standing();
      const held = await rawServer(() => {});
      const { clock, session } = onManualClock(held.port, []);
      const giveUp = new AbortController();
      const task = host().task({ session });
      const step = { ...coordinates("local/worker"), task: "x", contextId: "ctx_1", signal: giveUp.signal };
      const running = kind === "call" ? task.call(call) : runCapsuleStep(session, step);
      await until("its task is on the way", () => held.received().includes("SendMessage"));
      giveUp.abort();
      if (kind === "call") await task.cancel();
      expect(await running).toMatchObject({ kind: kind === "call" ? "failed" : "canceled" });
      await held.close();
      const { start, record } = await closedOnce(before);
      expect(start).toBeDefined();
      expect(record).toMatchObject({ status: "terminated", detail: "the parent ended this delegation" });
      await until("no timer is left", () => clock.waiting() === 0);
    },
  );

  test("is being ended at its deadline, it is ended only once and for that reason", async () => {
    const before = await standing();
    const bound = { MURMUR_DELEGATION_TIMEOUT_SECS: "7" };
    const { clock, session } = onManualClock(door().port ?? 0, ["trap '' TERM"], bound);
    const task = host().task({ session });
    expect((await task.call(call)).kind).toBe("started");
    const settling = task.settle({ kind: "finished", turnsLeft: 1 }, () => {});
    await clock.advance(7_000);
    const [id = ""] = task.inFlight();
    const canceling = task.cancel();
    let done = false;
    void settling.then(() => {
      done = true;
    });
    await clock.advance(4_999);
    // A task that continues from here has no child left.
    expect(done).toBe(false);
    expect(processesOf(session.id)).toHaveLength(1);
    await clock.advance(1);
    expect(await canceling).toEqual({ delegations: [id] });
    expect(await settling).toEqual({ kind: "done" });
    const { close, record } = await closedOnce(before);
    expect(close.reason).toStartWith("still running at its deadline of 7s");
    expect(record).toMatchObject({ status: "terminated", reported_by: "launcher" });
    await until("no timer is left", () => clock.waiting() === 0);
  });
});

test("a cancelled task waits for nothing, whatever else it has delegated", async () => {
  const task = host().task();
  expect(await task.cancel()).toEqual({ delegations: [] });
  const never = {
    waiting: () => "waiting",
    continuing: () => "continuing",
    done: new Promise<void>(() => {}),
  };
  const said: string[] = [];
  const finished = { kind: "finished", turnsLeft: 1 } as const;
  expect(await task.settle(finished, (status) => said.push(status), never)).toEqual({ kind: "done" });
  expect(said).toEqual([]);
});
