/** Files that change while the registry reads them. */

import { expect, test } from "bun:test";
import { mkdirSync, renameSync, rmSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { SpareDescriptors } from "../../src/registry/spare-descriptors.ts";
import { openFiles } from "../kit/folders.ts";
import { publishCapsule } from "../kit/host.ts";
import { coordinates, messageOf, testArtifacts } from "./kit.ts";

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

/** Puts another folder in the place of `folder` for the first opening of a file, and the right one back right after. */
class Swapping extends SpareDescriptors {
  swapped = 0;

  constructor(
    readonly folder: string,
    readonly ending: string,
  ) {
    super(0);
  }

  override open(path: string): number {
    if (this.swapped > 0 || !path.endsWith(this.ending)) return super.open(path);
    this.swapped++;
    renameSync(this.folder, `${this.folder}-right`);
    renameSync(`${this.folder}-other`, this.folder);
    try {
      return super.open(path);
    } finally {
      renameSync(this.folder, `${this.folder}-other`);
      renameSync(`${this.folder}-right`, this.folder);
    }
  }
}

const others: [string, (base: string) => Promise<unknown> | unknown][] = [
  ["another artifact", () => publishCapsule(artifacts.path(), "local/a", "description: other\n")],
  ["directories", (base) => [".mur.zip", ".sha256"].map((file) => mkdirSync(`${base}${file}`))],
];
test.each(
  others.flatMap((other) => ([".mur.zip", ".sha256"] as const).map((file) => [...other, file] as const)),
)(
  "a folder of %s that was there only while a file was opened is not taken for the right one",
  async (_, put, file) => {
    const base = artifacts.base("local/a");
    const folder = dirname(base);
    mkdirSync(folder, { recursive: true });
    await put(base);
    renameSync(folder, `${folder}-other`);
    const sha256 = await publishCapsule(artifacts.path(), "local/a");
    const descriptors = new Swapping(folder, file);
    const registry = artifacts.create({ descriptors });
    expect(await messageOf(registry, "local/a")).toBe(
      `registry error for 'local/a/0.1.0': ${base}${file}: changed while it was being read`,
    );
    expect(descriptors.swapped).toBe(1);
    // That is not remembered.
    expect(await registry.resolve(coordinates("local/a"))).toMatchObject({ ok: true, artifact: { sha256 } });
  },
);

test("a link that points elsewhere while both files are opened, and back before they are read, is not followed there", async () => {
  const link = dirname(artifacts.base("local/a"));
  const pointTo = (target: string) => {
    symlinkSync(`${link}-${target}`, `${link}-new`);
    renameSync(`${link}-new`, link);
  };
  await publishCapsule(artifacts.path(), "local/a", "description: other\n");
  renameSync(link, `${link}-other`);
  const sha256 = await publishCapsule(artifacts.path(), "local/a");
  renameSync(link, `${link}-right`);
  pointTo("right");
  class Flipping extends SpareDescriptors {
    override open(path: string): number {
      if (artifacts.reads() === 0) pointTo("other");
      return super.open(path);
    }
  }
  const registry = artifacts.create({ descriptors: new Flipping(0), meanwhile: () => pointTo("right") });
  for (const _ of ["read", "remembered"]) {
    expect(await registry.resolve(coordinates("local/a"))).toMatchObject({ ok: true, artifact: { sha256 } });
  }
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
