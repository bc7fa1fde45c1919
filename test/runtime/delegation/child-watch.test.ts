import { describe, expect, test } from "bun:test";
import { playedTask, turns, WATCH_SECS } from "./played.ts";

describe("the child watch", () => {
  test.each<[string, { environment?: Record<string, string>; deadlineSecs?: number }, number]>([
    ["is what the manifest says", { deadlineSecs: 7 }, 7],
    [
      "is what MURMUR_DELEGATION_TIMEOUT_SECS says, where it is set",
      { deadlineSecs: 7, environment: { MURMUR_DELEGATION_TIMEOUT_SECS: "9" } },
      9,
    ],
    [
      "is the manifest's, where that is no positive whole number",
      { deadlineSecs: 7, environment: { MURMUR_DELEGATION_TIMEOUT_SECS: "1.5" } },
      7,
    ],
  ])("%s", async (_, how, secs) => {
    const played = playedTask(how);
    const child = await played.start();
    await played.clock.advance(secs * 1_000 - 1);
    expect(child.signals).toEqual([]);
    await played.clock.advance(1);
    expect(child.signals).toEqual(["SIGTERM"]);
    await turns();
    expect(played.closes()).toMatchObject([
      { outcome: "terminated", reason: expect.stringContaining(`deadline of ${secs}s `) },
    ]);
    expect(child.record().detail).toBe(`${played.closes()[0]?.reason}\nexit status: 0\na last line`);
  });

  test("counts from readiness, not from when the task was taken", async () => {
    const taking = Promise.withResolvers<{ ok: true; value: string }>();
    const played = playedTask({ deliver: () => taking.promise });
    const child = played.child();
    const calling = played.call();
    await turns();
    await played.clock.advance(15_000);
    taking.resolve({ ok: true, value: "tsk_child" });
    expect((await calling).kind).toBe("started");
    await played.clock.advance(WATCH_SECS * 1_000 - 15_000);
    expect(child.signals).toEqual(["SIGTERM"]);
  });
});
