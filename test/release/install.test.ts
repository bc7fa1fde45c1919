import { describe, expect, test } from "bun:test";
import { mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { checksumLines, sha256OfFile } from "../../scripts/release/checksums.ts";
import { VERSION } from "../../src/version.ts";
import { compiledBinary } from "../kit/binary.ts";
import { scratchDirectory } from "../kit/scratch.ts";

const KERNELS: Readonly<Partial<Record<NodeJS.Platform, string>>> = { linux: "linux", darwin: "darwin" };
const MACHINES: Readonly<Record<string, string>> = { x64: "x86_64", arm64: "aarch64" };
const PLATFORM = `${KERNELS[process.platform]}-${MACHINES[process.arch]}`;
const FILE = `mur-roost-${VERSION}-${PLATFORM}`;
const OLD = "#!/bin/sh\necho mur-roost 0.0.1\n";

const digest = sha256OfFile(compiledBinary());

/** Put before a command to run it in its own mount namespace, with nothing mounted at /proc. */
const WITHOUT_PROC = ["unshare", "-m", "sh", "-c", 'umount -l /proc && exec "$0" "$@"'];

const canHideProc =
  process.platform === "linux" &&
  Bun.spawnSync([...WITHOUT_PROC, "true"], { stderr: "ignore", stdout: "ignore" }).exitCode === 0;

/** A release of this machine's binary alone, under a name, and a directory with an older command in it. */
async function prepare(directory: string, file = FILE) {
  const release = join(directory, "release");
  const commands = join(directory, "bin");
  mkdirSync(release);
  mkdirSync(commands);
  // A link, because copying a hundred megabytes is slow. A test that changes the file copies it first.
  symlinkSync(compiledBinary(), join(release, file));
  writeFileSync(join(release, "checksums.txt"), `${await digest}  ${file}\n`);
  writeFileSync(join(commands, "mur-roost"), OLD, { mode: 0o755 });
  return { release, commands };
}

function install(release: string, commands: string, version = VERSION, prefix: readonly string[] = []) {
  const run = Bun.spawnSync(
    [...prefix, "sh", join(import.meta.dir, "install.sh"), release, version, commands],
    {
      env: { PATH: process.env.PATH ?? "", HOME: commands },
    },
  );
  return { code: run.exitCode, said: run.stdout.toString(), complained: run.stderr.toString() };
}

/** Replaces the link by a copy of the file with one byte changed. */
function changeByte(path: string, at: number): void {
  const bytes = readFileSync(path);
  bytes.writeUInt8(bytes.readUInt8(at) ^ 0xff, at);
  rmSync(path);
  writeFileSync(path, bytes);
}

describe("installing", () => {
  test("replaces the old binary", async () => {
    using scratch = scratchDirectory();
    const { release, commands } = await prepare(scratch.path);
    expect(install(release, commands)).toEqual({
      code: 0,
      said: `installed mur-roost ${VERSION}\n`,
      complained: "",
    });
    const installed = Bun.spawnSync([join(commands, "mur-roost"), "--version"]);
    expect(installed.stdout.toString()).toBe(`mur-roost ${VERSION}\n`);
    expect(readdirSync(commands)).toEqual(["mur-roost"]);
  });

  /** What must be so after an installation that was refused. */
  function expectOldOne(commands: string): void {
    expect(readFileSync(join(commands, "mur-roost"), "utf8")).toBe(OLD);
    expect(readdirSync(commands)).toEqual(["mur-roost"]);
  }

  test("keeps the old binary if a byte of the new one was changed", async () => {
    using scratch = scratchDirectory();
    const { release, commands } = await prepare(scratch.path);
    changeByte(join(release, FILE), 50_000_000);
    const { code, complained } = install(release, commands);
    expect(complained).toBe(`install: ${FILE} does not have the checksum of checksums.txt\n`);
    expect(code).toBe(1);
    expectOldOne(commands);
  });

  test("keeps the old binary if the new one does not start here", async () => {
    using scratch = scratchDirectory();
    const { release, commands } = await prepare(scratch.path);
    // The kind of machine, in an ELF header (18) and in a Mach-O header (4): the checksum is right all the same.
    changeByte(join(release, FILE), process.platform === "darwin" ? 4 : 18);
    writeFileSync(join(release, "checksums.txt"), await checksumLines(release, [FILE]));
    const { code, complained } = install(release, commands);
    expect(complained).toContain(`install: ${FILE} does not start on this machine\n`);
    expect(code).toBe(1);
    expectOldOne(commands);
  });

  test.skipIf(!canHideProc)(
    "keeps the old binary if /proc is missing, which the runtime needs (skipped if it cannot be hidden)",
    async () => {
      using scratch = scratchDirectory();
      const { release, commands } = await prepare(scratch.path);
      const { code, complained } = install(release, commands, VERSION, WITHOUT_PROC);
      expect(complained).toContain(`install: ${FILE} does not start on this machine\n`);
      expect(code).toBe(1);
      expectOldOne(commands);
    },
  );

  test("keeps the old binary if the new one's version does not match its name", async () => {
    using scratch = scratchDirectory();
    const misnamed = `mur-roost-9.9.9-${PLATFORM}`;
    const { release, commands } = await prepare(scratch.path, misnamed);
    const { code, complained } = install(release, commands, "9.9.9");
    expect(complained).toBe(`install: ${misnamed} says that it is 'mur-roost ${VERSION}'\n`);
    expect(code).toBe(1);
    expectOldOne(commands);
  });
});
