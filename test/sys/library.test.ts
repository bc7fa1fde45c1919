import { expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { callsOf, errno, libraryFault } from "../../src/sys/library.ts";
import { threadsToBeHad } from "../../src/sys/this-process.ts";
import { until } from "../kit/until.ts";

test("either all calls are bound or none, and nothing throws", () => {
  const calls = callsOf({ getpid: { args: [], returns: "i32" } });
  expect(calls()?.getpid()).toBe(process.pid);
  const lacking = callsOf({
    getpid: { args: [], returns: "i32" },
    no_such_function: { args: [], returns: "i32" },
  });
  expect(lacking()).toBeUndefined();
  expect(lacking()).toBeUndefined();
});

test("a missing function is not a fault of the library", () => {
  expect(libraryFault()).toBeUndefined();
});

test("the error of a call is available right after it", () => {
  const calls = callsOf({ close: { args: ["i32"], returns: "i32" } });
  expect(calls()?.close(-1)).toBe(-1);
  expect(errno()).toBe(9);
});

test.skipIf(process.platform !== "linux")("requested threads start, and end", async () => {
  const threads = () => readdirSync("/proc/self/task").length;
  const before = threads();
  expect(threadsToBeHad(before + 20)).toBe(before + 20);
  // The runtime's own come and go, and one that was joined is listed for a moment more.
  await until("they have ended", () => threads() < before + 20);
});
