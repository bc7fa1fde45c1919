import { describe, expect, test } from "bun:test";
import { atOnce, inSlices } from "../src/slices.ts";

/** Work that pauses wherever it can, `steps` times, each after some milliseconds. */
function* busy(steps: number, log: string[], name: string): Generator<void, string> {
  for (let step = 0; step < steps; step++) {
    const end = performance.now() + 2;
    while (performance.now() < end);
    log.push(name);
    yield;
  }
  return name;
}

describe("work in slices", () => {
  test("can be run to its end in one go", () => {
    const log: string[] = [];
    expect(atOnce(busy(3, log, "whole"))).toBe("whole");
    expect(log).toHaveLength(3);
  });

  test("that ends within its first turn is a plain value", () => {
    expect(inSlices(busy(0, [], "quick"))).toBe("quick");
  });

  test("takes turns with other such work and with the event loop", async () => {
    const log: string[] = [];
    const works = [inSlices(busy(3, log, "a")), inSlices(busy(3, log, "b"))];
    setImmediate(() => log.push("loop"));
    expect(await Promise.all(works)).toEqual(["a", "b"]);
    expect(log).toEqual(["a", "b", "a", "loop", "b", "a", "b"]);
  });

  test("passes on an error from any turn, and continues with other work", async () => {
    function* failing(steps: number): Generator<void, never> {
      yield* busy(steps, [], "failing");
      throw new Error("stop");
    }
    expect(() => inSlices(failing(0))).toThrow("stop");
    const failed = inSlices(failing(2)) as Promise<never>;
    const good = inSlices(busy(3, [], "good"));
    const [first, second] = await Promise.allSettled([failed, good]);
    expect(first).toMatchObject({ status: "rejected", reason: { message: "stop" } });
    expect(second).toEqual({ status: "fulfilled", value: "good" });
  });
});
