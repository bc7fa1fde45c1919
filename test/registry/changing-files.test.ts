/** Files that change while the registry reads them. */

import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdirSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ArtifactVersion } from "../../src/registry/artifact-name.ts";
import { type Manifest, readManifest } from "../../src/registry/manifest.ts";
import { Registry } from "../../src/registry/registry.ts";
import { openFiles } from "../kit/folders.ts";
import { publishCapsule } from "../kit/host.ts";
import { nameOf } from "../kit/in-process.ts";
import { scratchDirectory } from "../kit/scratch.ts";

let scratch: ReturnType<typeof scratchDirectory>;
let reads: number;

beforeEach(() => {
  scratch = scratchDirectory();
  reads = 0;
});
afterEach(() => scratch[Symbol.dispose]());

/** @param meanwhile what happens while a manifest is read */
const create = (meanwhile: () => void) =>
  new Registry<Manifest>({
    path: scratch.path,
    readManifest(source) {
      reads++;
      meanwhile();
      return readManifest(source);
    },
    lower: (manifest) => manifest,
    // Later than any file's time, so every file is settled.
    now: () => Date.now() + 1000,
  });
const base = (name: string) => join(scratch.path, name, "0.1.0", `${name.split("/")[1]}-0.1.0`);
const publish = (name: string) => publishCapsule(scratch.path, name);
const resolve = async (registry: Registry<Manifest>, name = "local/a") => {
  const resolution = await registry.resolve({ name: nameOf(name), version: "0.1.0" as ArtifactVersion });
  return resolution.ok ? "resolved" : resolution.message;
};

test("a file that changed while it was being read is read again, three times in total", async () => {
  await publish("local/a");
  const zip = `${base("local/a")}.mur.zip`;
  // Another time stamp is a change, even with the same bytes.
  const changing = (times: number) =>
    create(() => {
      if (reads <= times) utimesSync(zip, reads, reads);
    });
  for (const times of [1, 2]) {
    reads = 0;
    expect(await resolve(changing(times))).toBe("resolved");
    expect(reads).toBe(times + 1);
  }
  reads = 0;
  const registry = changing(4);
  expect(await resolve(registry)).toBe(
    `registry error for 'local/a/0.1.0': ${zip}: changed while it was being read`,
  );
  expect(reads).toBe(3);
  // That is not remembered.
  expect(await resolve(registry)).toBe("resolved");
});

test("a file that was removed while it was being read is missing", async () => {
  await publish("local/a");
  const sidecar = `${base("local/a")}.sha256`;
  const registry = create(() => rmSync(sidecar, { force: true }));
  expect(await resolve(registry)).toBe(
    `registry error for 'local/a/0.1.0': not found: ${sidecar}: No such file or directory (os error 2)`,
  );
});

test("no file stays open, whether reading it succeeded or failed", async () => {
  await publish("local/a");
  await publish("local/b");
  writeFileSync(`${base("local/b")}.mur.zip`, "no archive");
  mkdirSync(`${base("local/c")}.mur.zip`, { recursive: true });
  writeFileSync(`${base("local/c")}.sha256`, "0".repeat(64));
  const before = openFiles();
  for (let count = 0; count < 20; count++) {
    for (const name of ["local/a", "local/b", "local/c"])
      await resolve(
        create(() => {}),
        name,
      );
  }
  expect(openFiles()).toBeLessThan(before + 10);
});
