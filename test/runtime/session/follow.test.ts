/** What a child does when its spawner has ended, or when it is told to end. */

import { describe, expect, test } from "bun:test";
import { createRoostClient } from "../../../src/runtime/client.ts";
import { Secret } from "../../../src/runtime/secret.ts";
import { type Ending, endWithSpawner } from "../../../src/runtime/session/follow.ts";
import type { Registration } from "../../../src/runtime/session/registration.ts";
import type { EndSignal } from "../../../src/runtime/session/signals.ts";
import type { RoostUrl } from "../../../src/runtime/wire.ts";
import { manualClock } from "../../kit/manual-clock.ts";

function scene(ending: (log: string[]) => Ending, registrationOf?: (log: string[]) => Registration) {
  const log: string[] = [];
  const bounds: number[] = [];
  const clock = manualClock();
  const { promise: ended, resolve: endSpawner } = Promise.withResolvers<void>();
  let terminate = (_: EndSignal) => {};
  const hurry = new AbortController();
  const exitAfter = (ms: number) => void bounds.push(ms);
  const diagnose = (line: string) => void log.push(line);
  endWithSpawner(
    { lifeline: { ended, exitAfter }, clock, hurry, diagnose, registration: registrationOf?.(log) },
    ending(log),
    {
      onTerminate: (handler) => {
        terminate = handler;
      },
      exit: (status) => void log.push(`exit ${status}`),
    },
  );
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

/** A session that says when it is deregistered. */
function registered(log: string[]): Registration {
  const client = {
    ...createRoostClient("http://127.0.0.1:1" as RoostUrl),
    deregister: async (outcome: string) => {
      log.push(`deregister ${outcome}`);
      return { kind: "granted", value: {} } as const;
    },
  };
  return { client, credential: new Secret("msc1.one") };
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

describe("an agent child that does not end in time gives its slot back, once,", () => {
  const stuck = () =>
    scene(
      agent(() => new Promise(() => {})),
      registered,
    );
  test("half a second before a spawner in a hurry would kill it", async () => {
    const { log, clock, terminate } = stuck();
    terminate();
    await clock.advance(2_499);
    expect(log).toEqual(["wind down"]);
    await clock.advance(1);
    expect(log).toEqual(["wind down", "deregister failed"]);
  });

  test("half a second before it is cut short after its spawner's end", async () => {
    const { log, clock, endSpawner, terminate, turn } = stuck();
    endSpawner();
    await turn();
    await clock.advance(19_499);
    expect(log).toEqual(["spawner_ended", "wind down"]);
    await clock.advance(1);
    expect(log.at(-1)).toBe("deregister failed");
    terminate();
    await clock.advance(10_000);
    expect(log.slice(2)).toEqual(["deregister failed", "exit 143"]);
  });

  test("even if only a later signal is its spawner's", async () => {
    const { log, clock, terminate } = stuck();
    terminate("SIGHUP");
    await clock.advance(10_000);
    terminate("SIGTERM");
    await clock.advance(2_500);
    expect(log).toEqual(["wind down", "deregister failed"]);
  });
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

describe("a wind-down that fails is a failed exit, is told, and gives the slot back,", () => {
  const thrown = () => {
    throw new Error("disk full");
  };
  test.each([
    ["rejects", () => Promise.reject(new Error("disk full"))],
    ["throws", thrown],
  ])("where it %s", async (_, windDown) => {
    const { log, terminate, turn } = scene(agent(windDown), registered);
    terminate();
    await turn();
    expect(log).toEqual([
      "wind down",
      "warning: winding down failed: disk full",
      "deregister failed",
      "exit 1",
    ]);
  });

  test("if the daemon answers in time", async () => {
    const { log, clock, terminate, turn } = scene(agent(thrown), (log) => {
      const { client, credential } = registered(log);
      return { client: { ...client, deregister: () => new Promise(() => {}) }, credential };
    });
    terminate();
    await turn();
    await clock.advance(249);
    expect(log.at(-1)).toStartWith("warning: ");
    await clock.advance(1);
    await turn();
    expect(log.at(-1)).toBe("exit 1");
  });
});

test.each([
  [
    "throws",
    () => {
      throw new Error("disk full");
    },
  ],
  ["rejects", () => Promise.reject(new Error("disk full"))],
])("an agent winds down even if its own record of the spawner's end %s", async (_, recordSpawnerEnded) => {
  const { log, endSpawner, turn } = scene(
    (log) =>
      ({
        ...agent(async () => 0)(log),
        recordSpawnerEnded,
      }) as Ending,
  );
  endSpawner();
  await turn();
  expect(log.toSorted()).toEqual([
    "exit 0",
    "warning: recording the spawner's end failed: disk full",
    "wind down",
  ]);
});
