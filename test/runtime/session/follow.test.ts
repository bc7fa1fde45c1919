/** What a child does when its spawner has ended, or when it is told to end. */

import { expect, test } from "bun:test";
import { type Ending, endWithSpawner } from "../../../src/runtime/session/follow.ts";
import type { EndSignal } from "../../../src/runtime/session/signals.ts";
import { manualClock } from "../../kit/manual-clock.ts";

function scene(ending: (log: string[]) => Ending) {
  const log: string[] = [];
  const bounds: number[] = [];
  const clock = manualClock();
  const { promise: ended, resolve: endSpawner } = Promise.withResolvers<void>();
  let terminate = (_: EndSignal) => {};
  const hurry = new AbortController();
  const exitAfter = (ms: number) => void bounds.push(ms);
  endWithSpawner({ lifeline: { ended, exitAfter }, clock, hurry }, ending(log), {
    onTerminate: (handler) => {
      terminate = handler;
    },
    exit: (status) => void log.push(`exit ${status}`),
  });
  const turn = () => new Promise((resume) => setImmediate(resume));
  return {
    log,
    clock,
    bounds,
    hurry,
    endSpawner,
    terminate: (signal: EndSignal = "SIGTERM") => terminate(signal),
    turn,
  };
}
const agent =
  (windDown: () => Promise<number>) =>
  (log: string[]): Ending => ({
    kind: "agent",
    recordSpawnerEnded: () => void log.push("spawner_ended"),
    windDown: () => {
      log.push("wind down");
      return windDown();
    },
  });

test("a script child exits 143 at once, and within a second whatever it does", async () => {
  const { log, bounds, endSpawner, turn } = scene(() => ({ kind: "script" }));
  endSpawner();
  await turn();
  expect([log, bounds]).toEqual([["exit 143"], [1_000]]);
});

test("a script child that is told to end by a signal does the same", () => {
  const { log, terminate } = scene(() => ({ kind: "script" }));
  terminate();
  expect(log).toEqual(["exit 143"]);
});

test("a signal to a child that holds a lifeline makes its own children end sooner", async () => {
  const { hurry, terminate } = scene(agent(() => new Promise(() => {})));
  expect(hurry.signal.aborted).toBe(false);
  terminate();
  expect(hurry.signal.aborted).toBe(true);
});

test.each(["SIGINT", "SIGHUP"] as const)(
  "but not by %s, which its whole process group was sent, as its parent too will say",
  async (signal) => {
    const { log, hurry, terminate } = scene(agent(() => new Promise(() => {})));
    terminate(signal);
    expect(hurry.signal.aborted).toBe(false);
    terminate("SIGTERM");
    expect(hurry.signal.aborted).toBe(true);
    expect(log).toEqual(["wind down"]);
  },
);

test("an agent child records it, winds down and exits with the result of the wind-down", async () => {
  const { log, endSpawner, turn } = scene(agent(async () => 0));
  endSpawner();
  await turn();
  expect(log).toEqual(["spawner_ended", "wind down", "exit 0"]);
});

test("a teardown that still runs after 20 s is cut short with 143", async () => {
  const { log, bounds, clock, endSpawner, turn } = scene(agent(() => new Promise(() => {})));
  endSpawner();
  await turn();
  await clock.advance(19_999);
  expect([log, bounds]).toEqual([["spawner_ended", "wind down"], [20_000]]);
  await clock.advance(1);
  expect(log.at(-1)).toBe("exit 143");
});

test("an end after SIGTERM has begun the wind-down writes nothing, but still limits its time", async () => {
  const { log, clock, endSpawner, terminate, turn } = scene(agent(() => new Promise(() => {})));
  terminate();
  endSpawner();
  await turn();
  await clock.advance(20_000);
  expect(log).toEqual(["wind down", "exit 143"]);
});

test("a signal after the end starts no second wind-down", async () => {
  const { log, endSpawner, terminate, turn } = scene(agent(() => new Promise(() => {})));
  endSpawner();
  await turn();
  terminate();
  expect(log).toEqual(["spawner_ended", "wind down"]);
});

test("a wind-down that fails is a failed exit", async () => {
  const { log, terminate, turn } = scene(agent(() => Promise.reject(new Error("disk full"))));
  terminate();
  await turn();
  expect(log).toEqual(["wind down", "exit 1"]);
});
