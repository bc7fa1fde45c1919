import { afterAll, expect, test } from "bun:test";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { constants } from "node:os";
import { join } from "node:path";
import { readSidecar } from "../../src/registry/artifact-file.ts";
import { SpareDescriptors } from "../../src/registry/spare-descriptors.ts";
import { openFiles } from "../kit/folders.ts";
import { scratchDirectory } from "../kit/scratch.ts";

const scratch = scratchDirectory();
afterAll(() => scratch[Symbol.dispose]());
const path = join(scratch.path, "a.sha256");
const HASH = "0123456789abcdef".repeat(4);

function read(text: string) {
  writeFileSync(path, text);
  return readSidecar(path, new SpareDescriptors(0));
}

test("a sidecar holds one hash, with white space around it", () => {
  expect(read(HASH)).toEqual({ ok: true, sha256: HASH as never });
  expect(read(` \n${HASH}\n`)).toEqual({ ok: true, sha256: HASH as never });
  expect(read(HASH.padEnd(4096))).toEqual({ ok: true, sha256: HASH as never });
});

test("a sidecar that holds anything else is refused until it changes", () => {
  const refused = {
    ok: false as const,
    fault: `${path}: must hold one lowercase hex SHA-256`,
    lasting: true,
  };
  for (const text of ["", HASH.toUpperCase(), HASH.slice(1), `${HASH}0`, `${HASH} a.mur.zip`]) {
    expect(read(text)).toEqual(refused);
  }
  const large = { ...refused, fault: `${path}: larger than 4096 bytes` };
  expect(read(HASH.padEnd(4097))).toEqual(large);
  expect(read(HASH.padEnd(100_000))).toEqual(large);
});

test("a sidecar that is not a file is refused, and an unreadable one is tried again the next time", () => {
  const directory = join(scratch.path, "directory");
  mkdirSync(directory);
  const descriptors = new SpareDescriptors(0);
  expect(readSidecar(directory, descriptors)).toEqual({
    ok: false,
    fault: `${directory}: not a regular file`,
    lasting: true,
  });
  const loop = join(scratch.path, "loop");
  symlinkSync("loop", loop);
  expect(readSidecar(loop, descriptors)).toEqual({
    ok: false,
    fault: `${loop}: Too many levels of symbolic links (os error ${constants.errno.ELOOP})`,
    lasting: false,
  });
});

test("no descriptor stays open after any reading", () => {
  const before = openFiles();
  for (let count = 0; count < 40; count++) read(count % 2 ? HASH : "");
  expect(openFiles()).toBeLessThan(before + 10);
});
