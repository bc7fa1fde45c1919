/** What a registry reads and what it remembers. */

import { describe, expect, test } from "bun:test";
import { renameSync, statSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { decodeManifest } from "../../src/registry/manifest.ts";
import { Registry } from "../../src/registry/registry.ts";
import { publishCapsule } from "../kit/host.ts";
import { packCapsule, publishArchive } from "../kit/publish.ts";
import { until } from "../kit/until.ts";
import { coordinates, messageOf, SETTLED, testArtifacts } from "./kit.ts";

const artifacts = testArtifacts();
const nextTurn = () => new Promise<void>((turn) => setImmediate(turn));

describe("the registry", () => {
  test("resolves a coordinate to the hash of its bytes and the manifest in them", async () => {
    const sha256 = await publishCapsule(
      artifacts.path(),
      "local/a",
      "capabilities: {shell: {allow: [git]}}\n",
    );
    const resolution = await artifacts.create().resolve(coordinates("local/a"));
    expect(resolution).toMatchObject({
      ok: true,
      artifact: { sha256, held: { name: "a", shellAllow: ["git"] } },
    });
  });

  test("prefers the pair for its platform if both files exist", async () => {
    await publishCapsule(artifacts.path(), "local/a", "capabilities: {shell: {allow: [any]}}\n");
    const shellOf = async () => {
      const resolution = await artifacts.create({ platform: "linux-x86_64" }).resolve(coordinates("local/a"));
      return resolution.ok && resolution.artifact.held.shellAllow[0];
    };
    const special = await packCapsule({
      "murmur.yaml": "name: a\nversion: 0.1.0\ncapabilities: {shell: {allow: [mine]}}\n",
    });
    writeFileSync(`${artifacts.base("local/a")}-linux-x86_64.mur.zip`, special);
    expect(await shellOf()).toBe("any");
    writeFileSync(
      `${artifacts.base("local/a")}-linux-x86_64.sha256`,
      ` ${new Bun.CryptoHasher("sha256").update(special).digest("hex")}\n`,
    );
    expect(await shellOf()).toBe("mine");
  });

  test("answers for unchanged files without reading them", async () => {
    await publishCapsule(artifacts.path(), "local/a");
    const registry = artifacts.create();
    const first = await registry.resolve(coordinates("local/a"));
    expect(await registry.resolve(coordinates("local/a"))).toBe(first);
    expect(artifacts.reads()).toBe(1);
  });

  test("shares one reading among requests that come while it is under way", async () => {
    await publishCapsule(artifacts.path(), "local/a");
    const registry = artifacts.create();
    const resolutions = await Promise.all(
      Array.from({ length: 10 }, () => registry.resolve(coordinates("local/a"))),
    );
    expect(new Set(resolutions).size).toBe(1);
    expect(artifacts.reads()).toBe(1);
  });

  test("answers a single caller at once for a known artifact", async () => {
    await publishCapsule(artifacts.path(), "local/a");
    const registry = artifacts.create();
    const first = await registry.resolve(coordinates("local/a"));
    await nextTurn();
    expect(registry.resolve(coordinates("local/a"))).toBe(first);
  });

  test("reads a small new artifact within one turn of the event loop, if time allows", async () => {
    await publishCapsule(artifacts.path(), "local/a");
    // A slice is a millisecond, which may be too short on a loaded machine.
    await until("one reading is done in its first slice", async () => {
      let turns = 0;
      setImmediate(() => turns++);
      expect(await artifacts.create().resolve(coordinates("local/a"))).toMatchObject({ ok: true });
      return turns === 0;
    });
  });

  test("never answers from a look that is older than the question, even if many share it", async () => {
    await publishCapsule(artifacts.path(), "local/a");
    const registry = artifacts.create();
    const old = await registry.resolve(coordinates("local/a"));
    await nextTurn();
    const archive = await packCapsule({ "murmur.yaml": "name: a\nversion: 0.1.0\ndescription: another\n" });
    const ask = async () => registry.resolve(coordinates("local/a"));
    const first = ask();
    const before = ask();
    const sha256 = publishArchive(artifacts.path(), "local/a", "0.1.0", archive);
    const after = ask();
    expect(await first).toBe(old);
    expect(await after).toMatchObject({ ok: true, artifact: { sha256 } });
    expect(await before).toBe(await after);
    expect(artifacts.reads()).toBe(2);
  });

  test("remembers a failure like a success, until its files change", async () => {
    await publishCapsule(artifacts.path(), "local/a", "x: [");
    const registry = artifacts.create();
    const first = await registry.resolve(coordinates("local/a"));
    expect(first).toMatchObject({
      ok: false,
      message: expect.stringContaining("manifest parse error: 'local/a/0.1.0'"),
    });
    expect(await registry.resolve(coordinates("local/a"))).toBe(first);
    expect(artifacts.reads()).toBe(1);
    await publishCapsule(artifacts.path(), "local/a");
    expect(await messageOf(registry, "local/a")).toBe("resolved");
  });

  test("does not remember a file that could still change within its own time stamp", async () => {
    await publishCapsule(artifacts.path(), "local/a");
    const { ctimeMs } = statSync(`${artifacts.base("local/a")}.mur.zip`);
    const clock = [ctimeMs + 5, ctimeMs + 5000, ctimeMs + 5000];
    const registry = artifacts.create({ now: () => clock.shift() ?? ctimeMs + 10_000 });
    await registry.resolve(coordinates("local/a"));
    await registry.resolve(coordinates("local/a"));
    await registry.resolve(coordinates("local/a"));
    expect(artifacts.reads()).toBe(2);
  });

  test("remembers a file whose modification time is ahead, or after the clock was set back", async () => {
    await publishCapsule(artifacts.path(), "local/a");
    const ahead = Date.now() / 1000 + 86_400;
    utimesSync(`${artifacts.base("local/a")}.mur.zip`, ahead, ahead);
    for (const now of [SETTLED, () => Date.now() - 86_400_000]) {
      artifacts.forgetReads();
      const registry = artifacts.create({ now });
      await registry.resolve(coordinates("local/a"));
      await registry.resolve(coordinates("local/a"));
      expect(artifacts.reads()).toBe(1);
    }
  });

  test("notices at the next request what was replaced, rewritten in place with its old times, or removed", async () => {
    const registry = artifacts.create();
    const old = await publishCapsule(artifacts.path(), "local/a");
    const hash = async () => {
      const resolution = await registry.resolve(coordinates("local/a"));
      return resolution.ok ? (resolution.artifact.sha256 as string) : resolution.message;
    };
    expect(await hash()).toBe(old);

    const replaced = await publishCapsule(artifacts.path(), "local/a", "x: 1\n");
    expect(await hash()).toBe(replaced);

    const archive = await packCapsule({ "murmur.yaml": "name: a\nversion: 0.1.0\nx: 2\n" });
    const zip = `${artifacts.base("local/a")}.mur.zip`;
    writeFileSync(zip, archive);
    utimesSync(zip, 1, 1);
    expect(await hash()).toContain("names another hash");
    const sha256 = new Bun.CryptoHasher("sha256").update(archive).digest("hex");
    writeFileSync(`${artifacts.base("local/a")}.sha256`, sha256);
    expect(await hash()).toBe(sha256);

    renameSync(zip, `${zip}.gone`);
    expect(await hash()).toBe(
      `registry error for 'local/a/0.1.0': not found: ${zip}: No such file or directory (os error 2)`,
    );
  });

  test("remembers a limited number of coordinates, the most recently used", async () => {
    for (const name of ["local/a", "local/b", "local/c"]) await publishCapsule(artifacts.path(), name);
    const registry = artifacts.create({ capacity: 2 });
    for (const name of ["local/a", "local/b", "local/a", "local/c", "local/a", "local/b"]) {
      await registry.resolve(coordinates(name));
    }
    expect(artifacts.reads()).toBe(4);
  });

  test("does not remember a failure of the host, because the artifact is not at fault", async () => {
    await publishCapsule(artifacts.path(), "local/a");
    let isShort = true;
    const registry = new Registry({
      path: artifacts.path(),
      readManifest: (source) =>
        decodeManifest(source, (top) => {
          if (isShort) throw new RangeError("Out of memory");
          return { name: top.requiredText("name") };
        }),
      lower: ({ name }) => name,
      now: SETTLED,
    });
    const resolve = async () => registry.resolve(coordinates("local/a"));
    await expect(resolve()).rejects.toThrow("Out of memory");
    isShort = false;
    expect(await resolve()).toMatchObject({ ok: true, artifact: { held: "a" } });
  });

  test("reuses the result for the same bytes while anything holds it, even if it was forgotten", async () => {
    for (const name of ["local/a", "local/b"]) await publishCapsule(artifacts.path(), name);
    const registry = artifacts.create({ capacity: 1 });
    const resolve = async (name: string) => {
      const resolution = await registry.resolve(coordinates(name));
      if (!resolution.ok) throw new Error(resolution.message);
      return resolution.artifact.held;
    };
    const held = await resolve("local/a");
    expect(await resolve("local/b")).not.toBe(held);
    expect(await resolve("local/a")).toBe(held);
    expect(artifacts.reads()).toBe(3);
  });

  test("remembers large manifests while they fit together", async () => {
    const filler = `# ${"x".repeat(200 * 1024)}\n`;
    const names = Array.from({ length: 11 }, (_, index) => `local/large${index}`);
    for (const name of names) await publishCapsule(artifacts.path(), name, filler);
    const registry = artifacts.create();
    for (const name of [...names, ...names.slice(1), ...names.slice(0, 1)]) {
      await registry.resolve(coordinates(name));
    }
    expect(artifacts.reads()).toBe(names.length + 1);
  });

  test("follows a link made by the operator", async () => {
    await publishCapsule(artifacts.path(), "local/a");
    renameSync(join(artifacts.path(), "local", "a"), join(artifacts.path(), "elsewhere"));
    symlinkSync(join(artifacts.path(), "elsewhere"), join(artifacts.path(), "local", "a"));
    expect(await messageOf(artifacts.create(), "local/a")).toBe("resolved");
  });
});
