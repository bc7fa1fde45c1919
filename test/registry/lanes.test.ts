import { describe, expect, test } from "bun:test";
import { ASKERS, LANES, Lane, READINGS_AT_ONCE } from "../../src/registry/lanes.ts";

const turn = () => new Promise<void>((end) => setImmediate(end));

/** A reading that ends when the test says so. */
function held(log: string[], name: string) {
  const { promise, resolve } = Promise.withResolvers<void>();
  const read = async () => {
    log.push(name);
    await promise;
    return name;
  };
  return { read, end: resolve };
}

describe("a lane", () => {
  test("reads a fixed number at once, queues a fixed number in order, and refuses the rest", async () => {
    const lane = new Lane({ atOnce: 2, waiting: 1 });
    const log: string[] = [];
    const readings = ["a", "b", "c", "d"].map((name) => held(log, name));
    const results = readings.map(({ read }) => lane.run(read));
    expect(log).toEqual(["a", "b"]);
    expect(results[3]).toBeUndefined();
    await turn();
    expect(log).toEqual(["a", "b"]);
    readings[1]?.end();
    expect(await results[1]).toBe("b");
    readings[2]?.end();
    expect(await results[2]).toBe("c");
    expect(log).toEqual(["a", "b", "c"]);
  });

  test("starts no more readings in one turn than it runs at once, even if they finish immediately", async () => {
    const lane = new Lane({ atOnce: 1, waiting: 9 });
    const log: string[] = [];
    const done = ["a", "b", "c"].map((name) => lane.run(async () => void log.push(name)));
    for (const expected of ["a", "b", "c"]) {
      expect(log.at(-1)).toBe(expected);
      await turn();
    }
    await Promise.all(done);
  });

  test("continues after a reading that failed", async () => {
    const lane = new Lane({ atOnce: 1, waiting: 1 });
    const failed = lane.run(() => Promise.reject(new Error("no memory")));
    const next = lane.run(async () => "read");
    const [first, second] = await Promise.allSettled([failed, next]);
    expect(first).toMatchObject({ status: "rejected", reason: { message: "no memory" } });
    expect(second).toEqual({ status: "fulfilled", value: "read" });
  });
});

test("six artifacts are read at once, 256 and 16 callers without a token wait, and 4 MiB are kept, as SECURITY.md says", () => {
  const limits = ASKERS.map((asker) => LANES[asker]);
  expect(limits.map(({ atOnce }) => atOnce)).toEqual([4, 1, 1]);
  expect(READINGS_AT_ONCE).toBe(6);
  expect(limits.map(({ waiting }) => waiting)).toEqual([Number.POSITIVE_INFINITY, 256, 16]);
  expect(limits.reduce((sum, { keptBytes }) => sum + keptBytes, 0)).toBe(4 * 1024 * 1024);
});
