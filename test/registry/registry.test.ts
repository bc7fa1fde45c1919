import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { constants, tmpdir } from "node:os";
import { join } from "node:path";
import type { ArtifactVersion } from "../../src/registry/artifact-name.ts";
import {
  decodeManifest,
  type Manifest,
  type ManifestReading,
  readManifest,
} from "../../src/registry/manifest.ts";
import { Registry } from "../../src/registry/registry.ts";
import { publishCapsule } from "../kit/host.ts";
import { nameOf } from "../kit/in-process.ts";
import { until } from "../kit/until.ts";
import { packCapsule, publishArchive } from "../kit/publish.ts";

const { errno } = constants;
let path: string;
let reads: number;
/** Later than any file's time, so every file is settled. */
const SETTLED = () => Date.now() + 1000;

beforeEach(() => {
  path = mkdtempSync(join(tmpdir(), "mur-roost-registry-"));
  reads = 0;
});
afterEach(() => rmSync(path, { recursive: true }));

const create = (options: { platform?: string; now?: () => number; capacity?: number } = {}) =>
  new Registry<Manifest>({
    path,
    readManifest: (source): ManifestReading => {
      reads++;
      return readManifest(source);
    },
    lower: (manifest) => manifest,
    now: SETTLED,
    ...options,
  });
const nextTurn = () => new Promise<void>((turn) => setImmediate(turn));
const coordinates = (name: string, version = "0.1.0") => ({
  name: nameOf(name),
  version: version as ArtifactVersion,
});
const base = (name: string, version = "0.1.0") =>
  join(path, name, version, `${name.split("/")[1]}-${version}`);
const messageOf = async (registry: Registry<Manifest>, name: string, version?: string) => {
  const resolution = await registry.resolve(coordinates(name, version));
  return resolution.ok ? "resolved" : resolution.message;
};

describe("the registry", () => {
  test("resolves a coordinate to the hash of its bytes and the manifest in them", async () => {
    const sha256 = await publishCapsule(path, "local/a", "capabilities: {shell: {allow: [git]}}\n");
    const resolution = await create().resolve(coordinates("local/a"));
    expect(resolution).toMatchObject({
      ok: true,
      artifact: { sha256, held: { name: "a", shellAllow: ["git"] } },
    });
  });

  test("prefers the pair for its platform if both files exist", async () => {
    await publishCapsule(path, "local/a", "capabilities: {shell: {allow: [any]}}\n");
    const shellOf = async () => {
      const resolution = await create({ platform: "linux-x86_64" }).resolve(coordinates("local/a"));
      return resolution.ok && resolution.artifact.held.shellAllow[0];
    };
    const special = await packCapsule({
      "murmur.yaml": "name: a\nversion: 0.1.0\ncapabilities: {shell: {allow: [mine]}}\n",
    });
    writeFileSync(`${base("local/a")}-linux-x86_64.mur.zip`, special);
    expect(await shellOf()).toBe("any");
    writeFileSync(
      `${base("local/a")}-linux-x86_64.sha256`,
      ` ${new Bun.CryptoHasher("sha256").update(special).digest("hex")}\n`,
    );
    expect(await shellOf()).toBe("mine");
  });

  test("answers for unchanged files without reading them", async () => {
    await publishCapsule(path, "local/a");
    const registry = create();
    const first = await registry.resolve(coordinates("local/a"));
    expect(await registry.resolve(coordinates("local/a"))).toBe(first);
    expect(reads).toBe(1);
  });

  test("shares one reading among requests that come while it is under way", async () => {
    await publishCapsule(path, "local/a");
    const registry = create();
    const resolutions = await Promise.all(
      Array.from({ length: 10 }, () => registry.resolve(coordinates("local/a"))),
    );
    expect(new Set(resolutions).size).toBe(1);
    expect(reads).toBe(1);
  });

  test("answers a single caller at once for a known artifact", async () => {
    await publishCapsule(path, "local/a");
    const registry = create();
    const first = await registry.resolve(coordinates("local/a"));
    await nextTurn();
    expect(registry.resolve(coordinates("local/a"))).toBe(first);
  });

  test("reads a small new artifact within one turn of the event loop, if time allows", async () => {
    await publishCapsule(path, "local/a");
    // A slice is a millisecond, which may be too short on a loaded machine.
    await until("one reading is done in its first slice", async () => {
      let turns = 0;
      setImmediate(() => turns++);
      expect(await create().resolve(coordinates("local/a"))).toMatchObject({ ok: true });
      return turns === 0;
    });
  });

  test("never answers from a look that is older than the question, even if many share it", async () => {
    await publishCapsule(path, "local/a");
    const registry = create();
    const old = await registry.resolve(coordinates("local/a"));
    await nextTurn();
    const archive = await packCapsule({ "murmur.yaml": "name: a\nversion: 0.1.0\ndescription: another\n" });
    const ask = async () => registry.resolve(coordinates("local/a"));
    const first = ask();
    const before = ask();
    const sha256 = publishArchive(path, "local/a", "0.1.0", archive);
    const after = ask();
    expect(await first).toBe(old);
    expect(await after).toMatchObject({ ok: true, artifact: { sha256 } });
    expect(await before).toBe(await after);
    expect(reads).toBe(2);
  });

  test("remembers a failure like a success, until its files change", async () => {
    await publishCapsule(path, "local/a", "x: [");
    const registry = create();
    const first = await registry.resolve(coordinates("local/a"));
    expect(first).toMatchObject({
      ok: false,
      message: expect.stringContaining("manifest parse error: 'local/a/0.1.0'"),
    });
    expect(await registry.resolve(coordinates("local/a"))).toBe(first);
    expect(reads).toBe(1);
    await publishCapsule(path, "local/a");
    expect(await messageOf(registry, "local/a")).toBe("resolved");
  });

  test("does not remember a file that could still change within its own time stamp", async () => {
    await publishCapsule(path, "local/a");
    const { ctimeMs } = statSync(`${base("local/a")}.mur.zip`);
    const clock = [ctimeMs + 5, ctimeMs + 5000, ctimeMs + 5000];
    const registry = create({ now: () => clock.shift() ?? ctimeMs + 10_000 });
    await registry.resolve(coordinates("local/a"));
    await registry.resolve(coordinates("local/a"));
    await registry.resolve(coordinates("local/a"));
    expect(reads).toBe(2);
  });

  test("remembers a file whose modification time is ahead, or after the clock was set back", async () => {
    await publishCapsule(path, "local/a");
    const ahead = Date.now() / 1000 + 86_400;
    utimesSync(`${base("local/a")}.mur.zip`, ahead, ahead);
    for (const now of [SETTLED, () => Date.now() - 86_400_000]) {
      reads = 0;
      const registry = create({ now });
      await registry.resolve(coordinates("local/a"));
      await registry.resolve(coordinates("local/a"));
      expect(reads).toBe(1);
    }
  });

  test("notices at the next request what was replaced, rewritten in place with its old times, or removed", async () => {
    const registry = create();
    const old = await publishCapsule(path, "local/a");
    const hash = async () => {
      const resolution = await registry.resolve(coordinates("local/a"));
      return resolution.ok ? (resolution.artifact.sha256 as string) : resolution.message;
    };
    expect(await hash()).toBe(old);

    const replaced = await publishCapsule(path, "local/a", "x: 1\n");
    expect(await hash()).toBe(replaced);

    const archive = await packCapsule({ "murmur.yaml": "name: a\nversion: 0.1.0\nx: 2\n" });
    const zip = `${base("local/a")}.mur.zip`;
    writeFileSync(zip, archive);
    utimesSync(zip, 1, 1);
    expect(await hash()).toContain("names another hash");
    const sha256 = new Bun.CryptoHasher("sha256").update(archive).digest("hex");
    writeFileSync(`${base("local/a")}.sha256`, sha256);
    expect(await hash()).toBe(sha256);

    renameSync(zip, `${zip}.gone`);
    expect(await hash()).toBe(
      `registry error for 'local/a/0.1.0': not found: ${zip}: No such file or directory (os error 2)`,
    );
  });

  test("remembers a limited number of coordinates, the most recently used", async () => {
    for (const name of ["local/a", "local/b", "local/c"]) await publishCapsule(path, name);
    const registry = create({ capacity: 2 });
    for (const name of ["local/a", "local/b", "local/a", "local/c", "local/a", "local/b"]) {
      await registry.resolve(coordinates(name));
    }
    expect(reads).toBe(4);
  });

  test("does not remember a failure of the host, because the artifact is not at fault", async () => {
    await publishCapsule(path, "local/a");
    let isShort = true;
    const registry = new Registry({
      path,
      readManifest: (source) =>
        decodeManifest(source, (top) => {
          if (isShort) throw new RangeError("Out of memory");
          return { name: top.requiredText("name") };
        }),
      lower: ({ name }) => name,
      now: () => Date.now() + 1000,
    });
    const resolve = async () => registry.resolve(coordinates("local/a"));
    await expect(resolve()).rejects.toThrow("Out of memory");
    isShort = false;
    expect(await resolve()).toMatchObject({ ok: true, artifact: { held: "a" } });
  });

  test("reuses the result for the same bytes while anything holds it, even if it was forgotten", async () => {
    for (const name of ["local/a", "local/b"]) await publishCapsule(path, name);
    const registry = create({ capacity: 1 });
    const resolve = async (name: string) => {
      const resolution = await registry.resolve(coordinates(name));
      if (!resolution.ok) throw new Error(resolution.message);
      return resolution.artifact.held;
    };
    const held = await resolve("local/a");
    expect(await resolve("local/b")).not.toBe(held);
    expect(await resolve("local/a")).toBe(held);
    expect(reads).toBe(3);
  });

  test("remembers large manifests while they fit together", async () => {
    const filler = `# ${"x".repeat(200 * 1024)}\n`;
    const names = Array.from({ length: 11 }, (_, index) => `local/large${index}`);
    for (const name of names) await publishCapsule(path, name, filler);
    const registry = create();
    for (const name of [...names, ...names.slice(1), ...names.slice(0, 1)]) {
      await registry.resolve(coordinates(name));
    }
    expect(reads).toBe(names.length + 1);
  });

  test("follows a link made by the operator", async () => {
    await publishCapsule(path, "local/a");
    renameSync(join(path, "local", "a"), join(path, "elsewhere"));
    symlinkSync(join(path, "elsewhere"), join(path, "local", "a"));
    expect(await messageOf(create(), "local/a")).toBe("resolved");
  });
});

describe("what does not resolve", () => {
  const cases: [string, () => Promise<void> | void, (zip: string, sidecar: string) => string][] = [
    ["nothing at all", () => {}, (zip) => `not found: ${zip}: No such file or directory (os error 2)`],
    [
      "a missing sidecar",
      async () => {
        await publishCapsule(path, "local/a");
        rmSync(`${base("local/a")}.sha256`);
      },
      (_, sidecar) => `not found: ${sidecar}: No such file or directory (os error 2)`,
    ],
    [
      "an empty sidecar",
      async () => {
        await publishCapsule(path, "local/a");
        writeFileSync(`${base("local/a")}.sha256`, "");
      },
      (_, sidecar) => `${sidecar}: must hold one lowercase hex SHA-256`,
    ],
    [
      "a sidecar in upper case",
      async () => {
        const sha256 = await publishCapsule(path, "local/a");
        writeFileSync(`${base("local/a")}.sha256`, sha256.toUpperCase());
      },
      (_, sidecar) => `${sidecar}: must hold one lowercase hex SHA-256`,
    ],
    [
      "a directory in place of the archive",
      () => {
        mkdirSync(`${base("local/a")}.mur.zip`, { recursive: true });
        writeFileSync(`${base("local/a")}.sha256`, "0".repeat(64));
      },
      (zip) => `${zip}: not a regular file`,
    ],
    [
      "a FIFO in place of the archive, without waiting for it",
      async () => {
        await publishCapsule(path, "local/a");
        rmSync(`${base("local/a")}.mur.zip`);
        Bun.spawnSync(["mkfifo", `${base("local/a")}.mur.zip`]);
      },
      (zip) => `${zip}: not a regular file`,
    ],
    [
      "a file in place of a directory",
      () => {
        mkdirSync(join(path, "local"));
        writeFileSync(join(path, "local", "a"), "");
      },
      (zip) =>
        `${zip.replace(".mur.zip", "-linux-x86_64.mur.zip")}: Not a directory (os error ${errno.ENOTDIR})`,
    ],
    [
      "links that lead in a circle",
      () => {
        mkdirSync(join(path, "local"));
        symlinkSync("a", join(path, "local", "a"));
      },
      (zip) =>
        `${zip.replace(".mur.zip", "-linux-x86_64.mur.zip")}: Too many levels of symbolic links (os error ${errno.ELOOP})`,
    ],
  ];
  test.each(cases)("%s", async (_, prepare, expected) => {
    await prepare();
    const message = await messageOf(create({ platform: "linux-x86_64" }), "local/a");
    const zip = `${base("local/a")}.mur.zip`;
    expect(message).toBe(`registry error for 'local/a/0.1.0': ${expected(zip, `${base("local/a")}.sha256`)}`);
  });

  test("a sidecar that names other bytes says both hashes", async () => {
    const sha256 = await publishCapsule(path, "local/a");
    writeFileSync(`${base("local/a")}.sha256`, "0".repeat(64));
    expect(await messageOf(create(), "local/a")).toEndWith(
      `names another hash than that of ${base("local/a")}.mur.zip (named ${"0".repeat(64)}, found ${sha256})`,
    );
  });

  test.each([
    ["no ZIP", Buffer.from("hello"), "it is not a whole ZIP archive"],
    ["an empty file", Buffer.alloc(0), "it is not a whole ZIP archive"],
  ])("%s", async (_, bytes, fault) => {
    publishArchive(path, "local/a", "0.1.0", bytes);
    expect(await messageOf(create(), "local/a")).toBe(
      `manifest extraction failed: 'local/a/0.1.0': ${fault}`,
    );
  });

  test("a truncated archive, cut anywhere", async () => {
    const whole = await packCapsule({
      "murmur.yaml": "name: a\nversion: 0.1.0\n",
      "tool.wasm": "x".repeat(200),
    });
    for (let length = 1; length < whole.length; length += 7) {
      publishArchive(path, "local/a", "0.1.0", whole.subarray(0, length));
      expect(await messageOf(create(), "local/a")).toStartWith(
        "manifest extraction failed: 'local/a/0.1.0': ",
      );
    }
  });

  test("an archive without a manifest at its root, or with two", async () => {
    publishArchive(path, "local/a", "0.1.0", await packCapsule({ "sub/murmur.yaml": "", "Murmur.yaml": "" }));
    expect(await messageOf(create(), "local/a")).toEndWith("it holds no murmur.yaml at its root");
    const twice = await packCapsule({ "murmur.yaml": "name: a", "murmur.yamL": "name: b" });
    for (let at = twice.indexOf("murmur.yamL"); at !== -1; at = twice.indexOf("murmur.yamL"))
      twice.write("l", at + 10);
    publishArchive(path, "local/a", "0.1.0", twice);
    expect(await messageOf(create(), "local/a")).toEndWith("it holds two entries that unpack to murmur.yaml");
  });

  test("an entry that unpacks to gigabytes, whatever its header says, is stopped at the limit", async () => {
    const bomb = await packCapsule({ "murmur.yaml": Buffer.alloc(64 * 1024 * 1024) });
    publishArchive(path, "local/a", "0.1.0", bomb);
    expect(await messageOf(create(), "local/a")).toEndWith("its murmur.yaml is larger than 256 KiB");
    // The two headers say 1,000 bytes.
    for (const [signature, at] of [
      [0x04034b50, 22],
      [0x02014b50, 24],
    ] as const) {
      for (let found = 0; found < bomb.length - 4; found++) {
        if (bomb.readUInt32LE(found) === signature) bomb.writeUInt32LE(1000, found + at);
      }
    }
    publishArchive(path, "local/a", "0.1.0", bomb);
    expect(await messageOf(create(), "local/a")).toMatch(/larger than 256 KiB|differs from the directory/);
  });

  test("a manifest of 256 KiB is read, but not one of a byte more", async () => {
    const head = "name: a\nversion: 0.1.0\n# ";
    const text = (length: number) => head + "x".repeat(length - head.length);
    publishArchive(path, "local/a", "0.1.0", await packCapsule({ "murmur.yaml": text(256 * 1024) }));
    expect(await messageOf(create(), "local/a")).toBe("resolved");
    publishArchive(path, "local/a", "0.1.0", await packCapsule({ "murmur.yaml": text(256 * 1024 + 1) }));
    expect(await messageOf(create(), "local/a")).toEndWith("its murmur.yaml is larger than 256 KiB");
  });

  test("a manifest that is not UTF-8", async () => {
    const bytes = Buffer.concat([Buffer.from("name: a\nversion: 1\nx: "), Buffer.from([0xc3, 0x28])]);
    publishArchive(path, "local/a", "0.1.0", await packCapsule({ "murmur.yaml": bytes }));
    expect(await messageOf(create(), "local/a")).toBe(
      "manifest parse error: 'local/a/0.1.0': the text is not valid UTF-8",
    );
  });
});

test("an artifact larger than its limit is refused before it is read", async () => {
  await publishCapsule(path, "local/a");
  const zip = `${base("local/a")}.mur.zip`;
  Bun.spawnSync(["truncate", "-s", String(512 * 1024 * 1024 + 1), zip]);
  expect(readFileSync(`${base("local/a")}.sha256`, "utf8")).toHaveLength(65);
  expect(await messageOf(create(), "local/a")).toEndWith(`${zip}: larger than 512 MiB`);
});
