import { expect, test } from "bun:test";
import { rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isSettled, isUnchanged, type Stamp, sight } from "../../src/registry/places.ts";
import { scratchDirectory } from "../kit/scratch.ts";

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

test("a file is settled once another change would get a different time", () => {
  expect(settledAfter(stampAt(SECOND + 1), 20)).toBe(false);
  expect(settledAfter(stampAt(SECOND + 1), 21)).toBe(true);
});

test("with times in whole seconds, a file settles after the coarsest rounding of any file system", () => {
  expect(settledAfter(stampAt(SECOND), 2020)).toBe(false);
  expect(settledAfter(stampAt(SECOND), 2021)).toBe(true);
});

test("a modification time set to a whole second does not show how the file system rounds", () => {
  expect(settledAfter(stampAt(SECOND + 1, SECOND), 21)).toBe(true);
});

test("a missing file is settled, and so is a change that is ahead of a clock that was set back", () => {
  expect(isSettled([{ path: "/a", stamp: undefined }], SECOND)).toBe(true);
  expect(settledAfter(stampAt(SECOND + 1), -1001)).toBe(true);
  expect(settledAfter(stampAt(SECOND + 1), -1000)).toBe(false);
  // In whole seconds, the next change may still get the same time.
  expect(settledAfter(stampAt(SECOND), -1001)).toBe(false);
});

test("one unsettled file makes the whole path unsettled", () => {
  const [old, young] = [stampAt(SECOND - 5000), stampAt(SECOND + 1)];
  const seen = [old, young, old].map((stamp) => ({ path: "/a", stamp }));
  expect(isSettled(seen, SECOND + 10)).toBe(false);
  expect(isSettled(seen, SECOND + 30)).toBe(true);
  expect(isSettled([], SECOND)).toBe(true);
});

test("a path is unchanged if its whole stamp is the same, or if it is still absent", () => {
  using scratch = scratchDirectory();
  const path = join(scratch.path, "file");
  const absent = sight(path);
  expect(absent).toEqual({ path, stamp: undefined });
  expect(isUnchanged([absent])).toBe(true);
  writeFileSync(path, "text");
  expect(isUnchanged([absent])).toBe(false);
  const { stamp } = sight(path);
  if (!stamp) throw new Error("the file was not seen");
  const { dev, ino, size, mtimeNs, ctimeNs } = stamp;
  const seen: Stamp = { dev, ino, size, mtimeNs, ctimeNs };
  expect(size).toBe(4n);
  expect(isUnchanged([{ path, stamp: seen }])).toBe(true);
  for (const field of ["dev", "ino", "size", "mtimeNs", "ctimeNs"] as const) {
    expect(isUnchanged([{ path, stamp: { ...seen, [field]: seen[field] + 1n } }])).toBe(false);
  }
  expect(isUnchanged([{ path, stamp: seen }, absent])).toBe(false);
  rmSync(path);
  expect(isUnchanged([{ path, stamp: seen }])).toBe(false);
  expect(isUnchanged([absent])).toBe(true);
  symlinkSync("file", path);
  expect(() => sight(path)).toThrow("ELOOP");
  expect(isUnchanged([absent])).toBe(false);
});
