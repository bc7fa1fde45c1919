import { expect, test } from "bun:test";
import { OnceATurn } from "../../src/registry/lanes.ts";

const turn = () => new Promise<void>((end) => setImmediate(end));

test("a single caller is answered at once, and many share one look after the last question", async () => {
  const looks = new OnceATurn<number>();
  let looked = 0;
  const ask = (question = "a") => looks.ask(question, () => ++looked);

  expect(ask()).toBe(1);
  expect(ask("b")).toBe(2);
  const shared = [ask(), ask()];
  expect(looked).toBe(2);
  expect(await Promise.all(shared)).toEqual([3, 3]);
  await turn();
  // Where there was a crowd, the next one is expected.
  const next = ask();
  expect(looked).toBe(3);
  expect(ask("b")).toBe(4);
  expect(await next).toBe(5);
  await turn();
  expect(ask()).toBe(6);
});

test("two that ask in one turn are a crowd, whose next question waits", async () => {
  const looks = new OnceATurn<number>();
  let looked = 0;
  const ask = () => looks.ask("a", () => ++looked);
  expect(await Promise.all([ask(), ask()])).toEqual([1, 2]);
  await turn();
  const next = ask();
  expect(looked).toBe(2);
  expect(await next).toBe(3);
});

test("a failed look fails only for the callers that share it", async () => {
  const looks = new OnceATurn<number>();
  const fail = () => Promise.reject(new Error("gone"));
  looks.ask("a", () => 0);
  const shared = [looks.ask("a", fail), looks.ask("a", fail)];
  expect(await Promise.allSettled(shared)).toEqual([
    { status: "rejected", reason: new Error("gone") },
    { status: "rejected", reason: new Error("gone") },
  ]);
  expect(await looks.ask("a", () => 1)).toBe(1);
});
