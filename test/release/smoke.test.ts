import { describe, expect, test } from "bun:test";
import { chmodSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Runner, runnersFor, smoke } from "../../scripts/release/smoke.ts";
import { TARGETS } from "../../scripts/release/targets.ts";
import { VERSION } from "../../src/version.ts";
import { compiledBinary } from "../kit/binary.ts";
import { scratchDirectory } from "../kit/scratch.ts";
import { until } from "../kit/until.ts";

const NATIVE: Runner = { name: "native", prefix: [], missing: undefined };

// Only Linux has a directory that no user can write to, and only Linux builds releases.
describe.skipIf(process.platform !== "linux")("starting a built binary", () => {
  const never = new AbortController().signal;

  test("passes if the binary answers correctly", async () => {
    expect(await smoke(compiledBinary(), VERSION, NATIVE, never)).toEqual({
      ok: true,
      value: "--version, health check and SIGTERM",
    });
  });

  /** A program that prints the right version, and does this when it is started as a daemon. */
  function program(directory: string, script: string): string {
    const path = join(directory, "mur-roost");
    writeFileSync(
      path,
      `#!/bin/sh\n[ "$1" = --version ] && echo "mur-roost ${VERSION}" && exit 0\n${script}\n`,
    );
    chmodSync(path, 0o755);
    return path;
  }

  async function verdict(script: string): Promise<string> {
    using scratch = scratchDirectory();
    const outcome = await smoke(program(scratch.path, script), VERSION, NATIVE, never);
    return outcome.ok ? "passed" : outcome.fault;
  }

  test("fails with the program's own message if it never listens", async () => {
    expect(await verdict("echo 'mur-roost: cannot count' >&2; exit 1")).toContain("mur-roost: cannot count");
  });

  test("fails if nothing answers on the port", async () => {
    const lines = "printf 'mur-roost: listening on 127.0.0.1:1\\nmur-roost: machine ceiling\\n' >&2";
    expect(await verdict(`${lines}; exec sleep 60`)).toContain("GET /health answered nothing");
  });

  test("fails if the version is wrong", async () => {
    const outcome = await smoke(compiledBinary(), "9.9.9", NATIVE, never);
    expect(outcome).toEqual({ ok: false, fault: expect.stringContaining(`"mur-roost ${VERSION}\\n"`) });
  });

  test("ends what it started when it is interrupted", async () => {
    using scratch = scratchDirectory();
    const started = join(scratch.path, "started");
    const interruption = new AbortController();
    const path = program(
      scratch.path,
      `echo $$ >"${started}.new"; mv "${started}.new" "${started}"; exec sleep 600`,
    );
    const running = smoke(path, VERSION, NATIVE, interruption.signal);
    await until("it has started", () => existsSync(started));
    interruption.abort("SIGINT");
    expect((await running).ok).toBe(false);
    expect(() => process.kill(Number(readFileSync(started, "utf8")), 0)).toThrow("ESRCH");
  });
});

test("every Linux file is tried, and a missing emulator is named", () => {
  for (const target of TARGETS) {
    const runners = runnersFor(target);
    expect(runners.length > 0).toBe(target.format === "elf");
    for (const { prefix, missing } of runners) {
      const [emulator] = prefix;
      const installed = emulator === undefined || Bun.which(emulator) !== null;
      if (!installed) expect(missing).toContain("qemu-user");
    }
  }
});
