/** What the registry reads again although its files are the same, and what it does not. */

import { expect, test } from "bun:test";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { SpareDescriptors } from "../../src/registry/spare-descriptors.ts";
import { publishCapsule } from "../kit/host.ts";
import { publishArchive } from "../kit/publish.ts";
import { messageOf, testArtifacts } from "./kit.ts";

const artifacts = testArtifacts();

/** Counts the files that are opened, and may find no file where there is one. */
class Watched extends SpareDescriptors {
  opened = 0;
  missing = "";

  override open(path: string): number {
    this.opened++;
    return super.open(this.missing !== "" && path.endsWith(this.missing) ? "/nonexistent" : path);
  }
}

test.each(["mur.zip", "sha256"])(
  "a failure of the host to read the .%s is told, and not remembered",
  async (file) => {
    await publishCapsule(artifacts.path(), "local/a");
    const descriptors = new Watched(0);
    const registry = artifacts.create({ descriptors });
    descriptors.missing = file;
    expect(await messageOf(registry, "local/a")).toBe(
      `registry error for 'local/a/0.1.0': ${artifacts.base("local/a")}.${file}: No such file or directory (os error 2)`,
    );
    descriptors.missing = "";
    expect(await messageOf(registry, "local/a")).toBe("resolved");
  },
);

const bad: [string, (base: string) => void][] = [
  ["whose sidecar holds no hash", (base) => writeFileSync(`${base}.sha256`, "x")],
  ["whose sidecar holds another hash", (base) => writeFileSync(`${base}.sha256`, "0".repeat(64))],
  ["that is no archive", () => publishArchive(artifacts.path(), "local/a", "0.1.0", Buffer.from("hello"))],
  [
    "that is a directory",
    (base) => {
      rmSync(`${base}.mur.zip`);
      mkdirSync(`${base}.mur.zip`);
    },
  ],
];
test.each(bad)("an artifact %s is not read again until it changes", async (_, spoil) => {
  await publishCapsule(artifacts.path(), "local/a");
  spoil(artifacts.base("local/a"));
  const descriptors = new Watched(0);
  const registry = artifacts.create({ descriptors });
  const first = await messageOf(registry, "local/a");
  expect(first).not.toBe("resolved");
  const { opened } = descriptors;
  expect(await messageOf(registry, "local/a")).toBe(first);
  expect(descriptors.opened).toBe(opened);
  rmSync(`${artifacts.base("local/a")}.mur.zip`, { recursive: true });
  await publishCapsule(artifacts.path(), "local/a");
  expect(await messageOf(registry, "local/a")).toBe("resolved");
});
