/** `scripts/release/try.sh` before it touches anything; with a whole release it runs the end-to-end tests. */

import { expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { arch, platform } from "node:os";
import { join } from "node:path";
import { VERSION } from "../../src/version.ts";
import { compiledBinary } from "../kit/binary.ts";
import { ROOT } from "../kit/documents.ts";
import { scratchDirectory } from "../kit/scratch.ts";

function tryRelease(...args: string[]) {
  const { exitCode, stderr } = Bun.spawnSync([join(ROOT, "scripts/release/try.sh"), ...args]);
  return { exitCode, told: stderr.toString() };
}

test("the script prints its usage if its arguments are wrong", () => {
  using empty = scratchDirectory();
  for (const args of [[], [empty.path], [empty.path, "more"]]) {
    expect(tryRelease(...args)).toEqual({
      exitCode: 1,
      told: expect.stringContaining("usage: scripts/release/try.sh"),
    });
  }
});

test("a file that differs from checksums.txt is not copied", () => {
  using release = scratchDirectory();
  const machine = arch() === "arm64" ? "aarch64" : "x86_64";
  const name = `mur-roost-${VERSION}-${platform()}-${machine}`;
  const before = statSync(compiledBinary()).ino;
  writeFileSync(join(release.path, name), "changed");
  const sum = createHash("sha256").update(readFileSync(compiledBinary())).digest("hex");
  writeFileSync(join(release.path, "checksums.txt"), `${sum}  ${name}\n`);
  expect(tryRelease(release.path)).toEqual({
    exitCode: 1,
    told: `try.sh: ${name} is not the file that checksums.txt names\n`,
  });
  expect(statSync(compiledBinary()).ino).toBe(before);
});
