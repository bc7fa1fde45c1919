import { describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { checksumLines, mergeChecksums, otherChecksums } from "../../scripts/release/checksums.ts";
import { scratchDirectory } from "../kit/scratch.ts";

test("checksums are written one line per file, sorted by name", async () => {
  using scratch = scratchDirectory();
  writeFileSync(join(scratch.path, "mur-roost-b"), "abc");
  writeFileSync(join(scratch.path, "mur-roost-a"), "");
  // The two digests are those of FIPS 180-4's examples.
  expect(await checksumLines(scratch.path, ["mur-roost-b", "mur-roost-a"])).toBe(
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855  mur-roost-a\n" +
      "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad  mur-roost-b\n",
  );
});

test.skipIf(Bun.which("sha256sum") === null)("sha256sum -c accepts it, and notices a change", async () => {
  using scratch = scratchDirectory();
  const check = () =>
    Bun.spawnSync(["sha256sum", "--strict", "-c", "checksums.txt"], { cwd: scratch.path, stderr: "ignore" });
  writeFileSync(join(scratch.path, "mur-roost"), "as it was built");
  writeFileSync(join(scratch.path, "checksums.txt"), await checksumLines(scratch.path, ["mur-roost"]));
  expect(check().stdout.toString()).toBe("mur-roost: OK\n");
  writeFileSync(join(scratch.path, "mur-roost"), "as it was bui1t");
  expect(check().exitCode).toBe(1);
});

describe("another program's lines", () => {
  const sum = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

  test("are read, and sorted by name among the new lines", () => {
    const text = `${sum}  mur-0.1.0-linux-x86_64\n${sum} *mur-0.1.0-darwin-x86_64\n`;
    const others = otherChecksums(text, "mur.txt", "0.1.0");
    expect(others).toEqual({
      ok: true,
      value: [`${sum}  mur-0.1.0-linux-x86_64\n`, `${sum}  mur-0.1.0-darwin-x86_64\n`],
    });
    const own = `${sum}  THIRD-PARTY-NOTICES.txt\n${sum}  mur-roost-0.1.0-linux-x86_64\n`;
    const merged = mergeChecksums(own, others.ok ? others.value : []);
    expect(
      merged
        .trimEnd()
        .split("\n")
        .map((line) => line.slice(66)),
    ).toEqual([
      "THIRD-PARTY-NOTICES.txt",
      "mur-0.1.0-darwin-x86_64",
      "mur-0.1.0-linux-x86_64",
      "mur-roost-0.1.0-linux-x86_64",
    ]);
    expect(mergeChecksums(own, [])).toBe(own);
  });

  test.each([
    ["mur-0.1.0-linux-x86_64", "line 1: not a line of sha256sum"],
    [`${sum}  ../mur-0.1.0-linux-x86_64`, "line 1: not a line of sha256sum"],
    [
      `\n${sum}  mur-roost-0.1.0-linux-x86_64`,
      "line 2: mur-roost-0.1.0-linux-x86_64 is a file of this release",
    ],
    [`${sum}  mur-0.2.0-linux-x86_64`, "is not of version 0.1.0; release both programs at one version"],
    [
      `${sum}  mur-0.1.0-linux-x86_64\n${"0".repeat(64)}  mur-0.1.0-linux-x86_64`,
      "line 2: mur-0.1.0-linux-x86_64 is there twice",
    ],
    ["", "it holds no checksums"],
  ])("%j is refused", (text, fault) => {
    expect(otherChecksums(text, "mur.txt", "0.1.0")).toEqual({
      ok: false,
      fault: expect.stringContaining(fault),
    });
  });
});
