import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { checksumLines } from "../../scripts/release/checksums.ts";
import { scratchDirectory } from "../kit/scratch.ts";

test("one line for each file, sorted by name", async () => {
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
