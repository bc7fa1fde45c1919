/** How a copy goes: its ceiling, its progress, how it is given up, and that it leaves nothing open. */

import { expect, test } from "bun:test";
import {
  copyFileSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { hold, noMoreFilesThan, openFiles } from "../../kit/folders.ts";
import { until } from "../../kit/until.ts";
import { Copying } from "./copying.ts";

const copying = new Copying();
const { at } = copying;

test("a copy of exactly the ceiling succeeds; one byte more stops it, and nothing is left", async () => {
  const { source } = copying;
  mkdirSync(at("sub"), { mode: 0o555 });
  writeFileSync(at("a"), "12345");
  writeFileSync(at("b"), "12345");
  const fault = await copying.faultOf({ ceilingBytes: 9 });
  expect(fault.kind).toBe("ceiling");
  expect(fault.message).toContain("9 bytes");
  expect(fault.message).toContain("capabilities.resources.workdir_max_bytes");
  expect(fault.message).toContain(source);
  expect((await copying.copied({ ceilingBytes: 10 })).bytes).toBe(10);
});

test("a destination that cannot take an entry fails the copy, which says which one and names the ceiling", async () => {
  const { copy } = copying;
  mkdirSync(at("sub"));
  writeFileSync(at("sub", "file"), "mine");
  mkdirSync(`${copy}/sub`);
  const fault = await copying.faultOf();
  expect(fault.kind).toBe("failed");
  expect(fault.message).toContain("sub could not be made: ");
  expect(fault.message).toMatch(/\(at most \d+ bytes by capabilities\.resources\.workdir_max_bytes\): /);
  expect(readFileSync(at("sub", "file"), "utf8")).toBe("mine");
});

test("a copy that is aborted ends, also in the middle of a file, and leaves nothing behind", async () => {
  const { copy } = copying;
  writeFileSync(at("large"), Buffer.alloc(64 * 1024 * 1024, 1));
  for (let file = 0; file < 3; file++) copyFileSync(at("large"), at(`large-${file}`));
  const before = openFiles();
  // Tried again if a busy machine finished the whole copy before this thread heard of its start.
  await until("a copy is given up on the way", async () => {
    const giveUp = new AbortController();
    const outcome = await copying.snapshot({ signal: giveUp.signal, onProgress: () => giveUp.abort() });
    if (outcome.ok) {
      rmSync(copy, { recursive: true });
      mkdirSync(copy, { mode: 0o700 });
      return false;
    }
    expect(outcome.fault.kind).toBe("aborted");
    expect(readdirSync(copy)).toEqual([]);
    return true;
  });
  expect((await copying.faultOf({ signal: AbortSignal.abort() })).kind).toBe("aborted");
  await noMoreFilesThan(before);
});

test("progress is reported, grows, and ends at the total", async () => {
  for (let file = 0; file < 20; file++) writeFileSync(at(`file-${file}`), Buffer.alloc(1000 * file));
  const told: number[] = [];
  let last: unknown;
  const made = await copying.copied({
    onProgress: (progress) => {
      told.push(progress.bytes);
      last = progress;
    },
  });
  expect(last).toEqual({ files: 20, dirs: 0, symlinks: 0, bytes: made.bytes });
  expect([...told].sort((a, b) => a - b)).toEqual(told);
});

test("many copies, one after the other and at once, leave no descriptor and no thread open", async () => {
  const { source } = copying;
  writeFileSync(at("file"), "x");
  const copyTo = async (name: string) => {
    mkdirSync(copying.folder.at(name));
    const destination = hold(copying.folder.at(name));
    const made = await copying.snapshot({ destination });
    destination.close();
    expect(made.ok).toBe(true);
  };
  await copyTo("first");
  const before = openFiles();
  for (let round = 0; round < 20; round++) await copyTo(`one-${round}`);
  await Promise.all(Array.from({ length: 8 }, (_, round) => copyTo(`many-${round}`)));
  await noMoreFilesThan(before);
  expect(existsSync(copying.folder.at("many-7", "file"))).toBe(true);
  expect(lstatSync(source).isDirectory()).toBe(true);
});
