/** Artifacts that do not resolve, each with what the registry says of it. */

import { describe, expect, test } from "bun:test";
import { mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { constants } from "node:os";
import { join } from "node:path";
import { publishCapsule } from "../kit/host.ts";
import { packCapsule, publishArchive } from "../kit/publish.ts";
import { messageOf, testArtifacts } from "./kit.ts";

const { errno } = constants;
const artifacts = testArtifacts();

describe("what does not resolve", () => {
  const cases: [string, () => Promise<void> | void, (zip: string, sidecar: string) => string][] = [
    ["nothing at all", () => {}, (zip) => `not found: ${zip}: No such file or directory (os error 2)`],
    [
      "a missing sidecar",
      async () => {
        await publishCapsule(artifacts.path(), "local/a");
        rmSync(`${artifacts.base("local/a")}.sha256`);
      },
      (_, sidecar) => `not found: ${sidecar}: No such file or directory (os error 2)`,
    ],
    [
      "an empty sidecar",
      async () => {
        await publishCapsule(artifacts.path(), "local/a");
        writeFileSync(`${artifacts.base("local/a")}.sha256`, "");
      },
      (_, sidecar) => `${sidecar}: must hold one lowercase hex SHA-256`,
    ],
    [
      "a sidecar in upper case",
      async () => {
        const sha256 = await publishCapsule(artifacts.path(), "local/a");
        writeFileSync(`${artifacts.base("local/a")}.sha256`, sha256.toUpperCase());
      },
      (_, sidecar) => `${sidecar}: must hold one lowercase hex SHA-256`,
    ],
    [
      "a directory in place of the archive",
      () => {
        mkdirSync(`${artifacts.base("local/a")}.mur.zip`, { recursive: true });
        writeFileSync(`${artifacts.base("local/a")}.sha256`, "0".repeat(64));
      },
      (zip) => `${zip}: not a regular file`,
    ],
    [
      "a FIFO in place of the archive, without waiting for it",
      async () => {
        await publishCapsule(artifacts.path(), "local/a");
        rmSync(`${artifacts.base("local/a")}.mur.zip`);
        Bun.spawnSync(["mkfifo", `${artifacts.base("local/a")}.mur.zip`]);
      },
      (zip) => `${zip}: not a regular file`,
    ],
    [
      "a file in place of a directory",
      () => {
        mkdirSync(join(artifacts.path(), "local"));
        writeFileSync(join(artifacts.path(), "local", "a"), "");
      },
      (zip) =>
        `${zip.replace(".mur.zip", "-linux-x86_64.mur.zip")}: Not a directory (os error ${errno.ENOTDIR})`,
    ],
    [
      "links that lead in a circle",
      () => {
        mkdirSync(join(artifacts.path(), "local"));
        symlinkSync("a", join(artifacts.path(), "local", "a"));
      },
      (zip) =>
        `${zip.replace(".mur.zip", "-linux-x86_64.mur.zip")}: Too many levels of symbolic links (os error ${errno.ELOOP})`,
    ],
  ];
  test.each(cases)("%s", async (_, prepare, expected) => {
    await prepare();
    const message = await messageOf(artifacts.create({ platform: "linux-x86_64" }), "local/a");
    const zip = `${artifacts.base("local/a")}.mur.zip`;
    expect(message).toBe(
      `registry error for 'local/a/0.1.0': ${expected(zip, `${artifacts.base("local/a")}.sha256`)}`,
    );
  });

  test("a sidecar that names other bytes says both hashes", async () => {
    const sha256 = await publishCapsule(artifacts.path(), "local/a");
    writeFileSync(`${artifacts.base("local/a")}.sha256`, "0".repeat(64));
    expect(await messageOf(artifacts.create(), "local/a")).toEndWith(
      `names another hash than that of ${artifacts.base("local/a")}.mur.zip (named ${"0".repeat(64)}, found ${sha256})`,
    );
  });

  test.each([
    ["no ZIP", Buffer.from("hello"), "it is not a whole ZIP archive"],
    ["an empty file", Buffer.alloc(0), "it is not a whole ZIP archive"],
  ])("%s", async (_, bytes, fault) => {
    publishArchive(artifacts.path(), "local/a", "0.1.0", bytes);
    expect(await messageOf(artifacts.create(), "local/a")).toBe(
      `manifest extraction failed: 'local/a/0.1.0': ${fault}`,
    );
  });

  test("a truncated archive, cut anywhere", async () => {
    const whole = await packCapsule({
      "murmur.yaml": "name: a\nversion: 0.1.0\n",
      "tool.wasm": "x".repeat(200),
    });
    for (let length = 1; length < whole.length; length += 7) {
      publishArchive(artifacts.path(), "local/a", "0.1.0", whole.subarray(0, length));
      expect(await messageOf(artifacts.create(), "local/a")).toStartWith(
        "manifest extraction failed: 'local/a/0.1.0': ",
      );
    }
  });

  test("an archive without a manifest at its root, or with two", async () => {
    publishArchive(
      artifacts.path(),
      "local/a",
      "0.1.0",
      await packCapsule({ "sub/murmur.yaml": "", "Murmur.yaml": "" }),
    );
    expect(await messageOf(artifacts.create(), "local/a")).toEndWith("it holds no murmur.yaml at its root");
    const twice = await packCapsule({ "murmur.yaml": "name: a", "murmur.yamL": "name: b" });
    for (let at = twice.indexOf("murmur.yamL"); at !== -1; at = twice.indexOf("murmur.yamL"))
      twice.write("l", at + 10);
    publishArchive(artifacts.path(), "local/a", "0.1.0", twice);
    expect(await messageOf(artifacts.create(), "local/a")).toEndWith(
      "it holds two entries that unpack to murmur.yaml, or below it",
    );
  });

  test("an entry that unpacks to gigabytes, whatever its header says, is stopped at the limit", async () => {
    const bomb = await packCapsule({ "murmur.yaml": Buffer.alloc(64 * 1024 * 1024) });
    publishArchive(artifacts.path(), "local/a", "0.1.0", bomb);
    expect(await messageOf(artifacts.create(), "local/a")).toEndWith(
      "its murmur.yaml is larger than 256 KiB",
    );
    // The two headers say 1,000 bytes.
    for (const [signature, at] of [
      [0x04034b50, 22],
      [0x02014b50, 24],
    ] as const) {
      for (let found = 0; found < bomb.length - 4; found++) {
        if (bomb.readUInt32LE(found) === signature) bomb.writeUInt32LE(1000, found + at);
      }
    }
    publishArchive(artifacts.path(), "local/a", "0.1.0", bomb);
    expect(await messageOf(artifacts.create(), "local/a")).toMatch(
      /larger than 256 KiB|differs from the directory/,
    );
  });

  test("a manifest of 256 KiB is read, but not one of a byte more", async () => {
    const head = "name: a\nversion: 0.1.0\n# ";
    const text = (length: number) => head + "x".repeat(length - head.length);
    publishArchive(
      artifacts.path(),
      "local/a",
      "0.1.0",
      await packCapsule({ "murmur.yaml": text(256 * 1024) }),
    );
    expect(await messageOf(artifacts.create(), "local/a")).toBe("resolved");
    publishArchive(
      artifacts.path(),
      "local/a",
      "0.1.0",
      await packCapsule({ "murmur.yaml": text(256 * 1024 + 1) }),
    );
    expect(await messageOf(artifacts.create(), "local/a")).toEndWith(
      "its murmur.yaml is larger than 256 KiB",
    );
  });

  test("a manifest that begins with a byte order mark", async () => {
    const archive = await packCapsule({ "murmur.yaml": "\ufeffname: a\nversion: 0.1.0\n" });
    publishArchive(artifacts.path(), "local/a", "0.1.0", archive);
    expect(await messageOf(artifacts.create(), "local/a")).toStartWith(
      "manifest parse error: 'local/a/0.1.0': the character U+FEFF is not allowed (line 1)",
    );
  });

  test("a manifest that is not UTF-8", async () => {
    const bytes = Buffer.concat([Buffer.from("name: a\nversion: 1\nx: "), Buffer.from([0xc3, 0x28])]);
    publishArchive(artifacts.path(), "local/a", "0.1.0", await packCapsule({ "murmur.yaml": bytes }));
    expect(await messageOf(artifacts.create(), "local/a")).toBe(
      "manifest parse error: 'local/a/0.1.0': the text is not valid UTF-8",
    );
  });
});

test("an artifact larger than its limit is refused before it is read", async () => {
  await publishCapsule(artifacts.path(), "local/a");
  const zip = `${artifacts.base("local/a")}.mur.zip`;
  Bun.spawnSync(["truncate", "-s", String(512 * 1024 * 1024 + 1), zip]);
  expect(readFileSync(`${artifacts.base("local/a")}.sha256`, "utf8")).toHaveLength(65);
  expect(await messageOf(artifacts.create(), "local/a")).toEndWith(`${zip}: larger than 512 MiB`);
});
