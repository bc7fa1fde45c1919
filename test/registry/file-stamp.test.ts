import { expect, test } from "bun:test";
import { isSettled, type Stamp } from "../../src/registry/file-stamp.ts";

const SECOND = 1_800_000_000_000;
const stampAt = (ctimeMs: number, mtimeMs = ctimeMs): Stamp => ({
  dev: 1n,
  ino: 2n,
  size: 3n,
  ctimeNs: BigInt(ctimeMs) * 1_000_000n,
  mtimeNs: BigInt(mtimeMs) * 1_000_000n,
});
const settledAfter = (stamp: Stamp, ms: number) =>
  isSettled([{ path: "/a", stamp }], Number(stamp.ctimeNs) / 1e6 + ms);

test("a file settles once a second change would carry another time", () => {
  expect(settledAfter(stampAt(SECOND + 1), 20)).toBe(false);
  expect(settledAfter(stampAt(SECOND + 1), 21)).toBe(true);
});

test("where times are whole seconds, it takes longer than any file system rounds", () => {
  expect(settledAfter(stampAt(SECOND), 1900)).toBe(false);
  expect(settledAfter(stampAt(SECOND), 2100)).toBe(true);
});

test("a modification time that somebody set to a whole second says nothing of the file system", () => {
  expect(settledAfter(stampAt(SECOND + 1, SECOND), 21)).toBe(true);
});

test("what is not there is settled, and so is a change that lies ahead of a clock that was set back", () => {
  expect(isSettled([{ path: "/a", stamp: undefined }], SECOND)).toBe(true);
  expect(settledAfter(stampAt(SECOND), -1001)).toBe(true);
  expect(settledAfter(stampAt(SECOND), -999)).toBe(false);
});
