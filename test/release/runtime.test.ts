import { describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import manifest from "../../package.json" with { type: "json" };
import lock from "../../package-lock.json" with { type: "json" };
import { checkPinnedVersion, fetchRuntime, unpackRuntime } from "../../scripts/release/runtime.ts";
import pins from "../../scripts/release/runtimes.json" with { type: "json" };
import { TARGETS } from "../../scripts/release/targets.ts";
import { scratchDirectory } from "../kit/scratch.ts";

describe("a runtime's package", () => {
  /** Unpacks a tarball of these files against the pin of `pinned`, or of the tarball itself. */
  async function unpack(directory: string, files: Record<string, string>, change: (bytes: Buffer) => void) {
    const bytes = Buffer.from(await new Bun.Archive(files, { compress: "gzip" }).bytes());
    const pin = `sha512-${createHash("sha512").update(bytes).digest("base64")}`;
    change(bytes);
    writeFileSync(join(directory, "package.tgz"), bytes);
    return await unpackRuntime({
      tarball: join(directory, "package.tgz"),
      pin,
      coordinate: "@oven/bun-test@1.0.0",
      to: join(directory, "bun"),
    });
  }
  const FILES = { "package/package.json": "{}", "package/bin/bun": "#!/bin/sh\n" };

  test("yields its executable if it is the pinned one", async () => {
    using scratch = scratchDirectory();
    expect(await unpack(scratch.path, FILES, () => {})).toEqual({ ok: true, value: undefined });
    expect(readFileSync(join(scratch.path, "bun"), "utf8")).toBe("#!/bin/sh\n");
    expect(statSync(join(scratch.path, "bun")).mode & 0o777).toBe(0o755);
  });

  test("is not unpacked if one bit differs", async () => {
    using scratch = scratchDirectory();
    // The gzip header's time: it changes nothing that is inside.
    const outcome = await unpack(scratch.path, FILES, (bytes) => bytes.writeUInt8(bytes.readUInt8(4) ^ 1, 4));
    expect(outcome).toEqual({
      ok: false,
      fault: expect.stringContaining(
        "@oven/bun-test@1.0.0 is not the package that scripts/release/runtimes.json pins",
      ),
    });
    expect(existsSync(join(scratch.path, "bun"))).toBe(false);
  });

  test("must hold an executable", async () => {
    using scratch = scratchDirectory();
    expect(await unpack(scratch.path, { "package/package.json": "{}" }, () => {})).toEqual({
      ok: false,
      fault: "@oven/bun-test@1.0.0 holds no package/bin/bun",
    });
  });
});

test("a failed download quotes npm's own words", async () => {
  using scratch = scratchDirectory();
  const registry = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: () => Response.json({ error: "no package of that name here" }, { status: 404 }),
  });
  const [target] = TARGETS;
  if (!target) throw new Error("there is no target");
  try {
    const environment = {
      PATH: process.env.PATH,
      HOME: scratch.path,
      npm_config_cache: join(scratch.path, "cache"),
      npm_config_registry: `http://127.0.0.1:${registry.port}/`,
    };
    const fetched = await fetchRuntime(target, scratch.path, new AbortController().signal, environment);
    expect(fetched).toEqual({ ok: false, fault: expect.stringContaining("404") });
    expect(fetched).toEqual({ ok: false, fault: expect.stringContaining("no package of that name here") });
  } finally {
    await registry.stop(true);
  }
});

describe("the pins", () => {
  test("are for the Bun version in package.json", () => {
    expect(pins.version).toBe(manifest.devDependencies.bun);
    expect(checkPinnedVersion(pins.version).ok).toBe(true);
    expect(checkPinnedVersion("0.0.1")).toEqual({ ok: false, fault: expect.stringContaining("npm ci") });
  });

  test("agree with the lock file on every package that both name", () => {
    const locked: ReadonlyMap<string, object> = new Map(Object.entries(lock.packages));
    const both = Object.entries(pins.sha512).filter(([name]) => locked.has(`node_modules/${name}`));
    expect(both.length).toBeGreaterThan(0);
    for (const [name, integrity] of both) {
      expect(locked.get(`node_modules/${name}`)).toMatchObject({ version: pins.version, integrity });
    }
  });
});
