import { beforeEach, expect, test } from "bun:test";
import { Pipelining } from "../../src/api/pipelining.ts";

let pipelining: Pipelining;
let looks: number;

beforeEach(() => {
  pipelining = new Pipelining();
  looks = 0;
});

/** So many requests of one connection, all in this turn; the answers that must be its last, by their number from 1. */
function requests(count: number, port: number | undefined): number[] {
  const last: number[] = [];
  for (let number = 1; number <= count; number++) {
    const isLast = pipelining.isLast(() => {
      looks++;
      return port;
    });
    if (isLast) last.push(number);
  }
  return last;
}

const nextTurn = () => new Promise<void>((resolve) => setImmediate(resolve));

test("every eighth request is checked, and two checks of a connection in one turn end it", () => {
  expect(requests(7, 1)).toEqual([]);
  expect(looks).toBe(0);
  expect(requests(1, 1)).toEqual([]);
  expect(looks).toBe(1);
  expect(requests(7, 1)).toEqual([]);
  expect(looks).toBe(1);
  expect(requests(1, 1)).toEqual([1]);
});

test("requests on different connections end none of them", () => {
  for (let round = 0; round < 100; round++) expect(requests(1, round)).toEqual([]);
});

test("a connection with one request per turn is never ended", async () => {
  for (let round = 0; round < 5; round++) {
    expect(requests(8, 1)).toEqual([]);
    await nextTurn();
  }
  expect(looks).toBe(5);
});

test("after one was ended the next thousand requests are checked, and each find restarts the count", async () => {
  expect(requests(16, 1)).toEqual([16]);
  await nextTurn();
  looks = 0;
  expect(requests(1, 2)).toEqual([]);
  expect(requests(1, 2)).toEqual([1]);
  expect(looks).toBe(2);
  await nextTurn();
  looks = 0;
  for (let port = 10; port < 1010; port++) expect(requests(1, port)).toEqual([]);
  expect(looks).toBe(1000);
  // The sixteen before were counted; the guard's were not.
  expect(requests(7, 3)).toEqual([]);
  expect(looks).toBe(1000);
  expect(requests(1, 3)).toEqual([]);
  expect(looks).toBe(1001);
});

test("an unknown connection is not ended", () => {
  expect(requests(64, undefined)).toEqual([]);
  expect(looks).toBe(8);
});
