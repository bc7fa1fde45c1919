/** Files that change while the registry reads them. */

import { expect, test } from "bun:test";
import { mkdirSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { openFiles } from "../kit/folders.ts";
import { publishCapsule } from "../kit/host.ts";
import { messageOf, testArtifacts } from "./kit.ts";

const artifacts = testArtifacts();

test("a file that changed while it was being read is read again, three times in total", async () => {
  await publishCapsule(artifacts.path(), "local/a");
  const zip = `${artifacts.base("local/a")}.mur.zip`;
  // Another time stamp is a change, even with the same bytes.
  const changing = (times: number) =>
    artifacts.create({
      meanwhile: () => {
        const reads = artifacts.reads();
        if (reads <= times) utimesSync(zip, reads, reads);
      },
    });
  for (const times of [1, 2]) {
    artifacts.forgetReads();
    expect(await messageOf(changing(times), "local/a")).toBe("resolved");
    expect(artifacts.reads()).toBe(times + 1);
  }
  artifacts.forgetReads();
  const registry = changing(4);
  expect(await messageOf(registry, "local/a")).toBe(
    `registry error for 'local/a/0.1.0': ${zip}: changed while it was being read`,
  );
  expect(artifacts.reads()).toBe(3);
  // That is not remembered.
  expect(await messageOf(registry, "local/a")).toBe("resolved");
});

test("a file that was removed while it was being read is missing", async () => {
  await publishCapsule(artifacts.path(), "local/a");
  const sidecar = `${artifacts.base("local/a")}.sha256`;
  const registry = artifacts.create({ meanwhile: () => rmSync(sidecar, { force: true }) });
  expect(await messageOf(registry, "local/a")).toBe(
    `registry error for 'local/a/0.1.0': not found: ${sidecar}: No such file or directory (os error 2)`,
  );
});

test("no file stays open, whether reading it succeeded or failed", async () => {
  await publishCapsule(artifacts.path(), "local/a");
  await publishCapsule(artifacts.path(), "local/b");
  writeFileSync(`${artifacts.base("local/b")}.mur.zip`, "no archive");
  mkdirSync(`${artifacts.base("local/c")}.mur.zip`, { recursive: true });
  writeFileSync(`${artifacts.base("local/c")}.sha256`, "0".repeat(64));
  const before = openFiles();
  for (let count = 0; count < 20; count++) {
    for (const name of ["local/a", "local/b", "local/c"]) await messageOf(artifacts.create(), name);
  }
  expect(openFiles()).toBeLessThan(before + 10);
});
