import { expect, test } from "bun:test";
import { RateLimit } from "../../src/log/decision-log.ts";

function limited(limit: number) {
  const told: number[] = [];
  const due: (() => void)[] = [];
  const rate = new RateLimit(
    limit,
    (count) => told.push(count),
    (_, action) => due.push(action),
  );
  const admitted = (asked: number) =>
    Array.from({ length: asked }, () => rate.admits()).filter(Boolean).length;
  return { rate, told, admitted, nextSecond: () => due.shift()?.() };
}

test("a fixed number passes in each second, and the rest are counted when it ends", () => {
  const { told, admitted, nextSecond } = limited(3);
  expect(admitted(10)).toBe(3);
  expect(told).toEqual([]);
  nextSecond();
  expect(told).toEqual([7]);
  expect(admitted(2)).toBe(2);
  nextSecond();
  expect(told).toEqual([7]);
  expect(admitted(4)).toBe(3);
  nextSecond();
  expect(told).toEqual([7, 1]);
});

test("the count is reported at the end, and no timer runs while nothing happens", () => {
  const { rate, told, admitted, nextSecond } = limited(1);
  expect(nextSecond()).toBeUndefined();
  admitted(5);
  rate.close();
  expect(told).toEqual([4]);
});
