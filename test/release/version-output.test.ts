/** `--version` of the compiled daemon, if its output cannot be written. */
import { expect, test } from "bun:test";
import { closeSync, constants, existsSync, openSync } from "node:fs";
import { join } from "node:path";
import { VERSION } from "../../src/version.ts";
import { compiledBinary } from "../kit/binary.ts";
import { scratchDirectory } from "../kit/scratch.ts";

/** Runs `--version` with standard output on a descriptor. */
function printVersion(stdout: number) {
  const { exitCode, signalCode, stderr } = Bun.spawnSync([compiledBinary(), "--version"], {
    stdin: "ignore",
    stdout,
    stderr: "pipe",
  });
  return { exitCode, signalCode, stderr: stderr?.toString() };
}

test.skipIf(!existsSync("/dev/full"))("a full disk is a failure, in one line that names it", () => {
  const full = openSync("/dev/full", "w");
  const { exitCode, stderr } = printVersion(full);
  closeSync(full);
  expect(stderr).toMatch(
    /^error\[E-IO-003\]: failed to write to standard output: No space left on device \(os error 28\)\n$/,
  );
  expect(exitCode).toBe(1);
});

test("a reader that went away is not a failure", () => {
  using scratch = scratchDirectory();
  const fifo = join(scratch.path, "fifo");
  expect(Bun.spawnSync(["mkfifo", fifo]).exitCode).toBe(0);
  const reader = openSync(fifo, constants.O_RDONLY | constants.O_NONBLOCK);
  const writer = openSync(fifo, "w");
  // Gone before the program starts, so that its write must meet a pipe without a reader.
  closeSync(reader);
  const { exitCode, stderr } = printVersion(writer);
  closeSync(writer);
  expect(stderr).toBe("");
  expect(exitCode).toBe(0);
});

test("`mur-roost --version | true` succeeds", () => {
  // A pipeline's exit code is its last command's: the first one's is written where the test can read it.
  const script = '{ "$0" --version; echo "$?" >&2; } | true';
  const { stderr } = Bun.spawnSync(["sh", "-c", script, compiledBinary()]);
  expect(stderr.toString()).toBe("0\n");
});

test("the only output is one line with the name and the version", () => {
  const { exitCode, stdout, stderr } = Bun.spawnSync([compiledBinary(), "--version"]);
  expect(stdout.toString()).toBe(`mur-roost ${VERSION}\n`);
  expect(stderr.toString()).toBe("");
  expect(exitCode).toBe(0);
});
