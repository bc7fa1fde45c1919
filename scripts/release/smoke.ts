/** Starts a built Linux binary and checks its version and its `/health`. */
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { arch, tmpdir } from "node:os";
import { join } from "node:path";
import { messageOf } from "../../src/os-error.ts";
import { fault, ok, type Result } from "../../src/result.ts";
import { type DaemonProcess, startDaemonProcess } from "../../test/kit/daemon-process.ts";
import type { ReleaseTarget } from "./targets.ts";

/** A way to run a binary on this machine: natively or in an emulator. */
export type Runner = {
  readonly name: string;
  /** What comes before the binary on the command line. */
  readonly prefix: readonly string[];
  /** What to install if this machine cannot do it. */
  readonly missing: string | undefined;
};

/** A directory in which even root cannot create files. */
const UNWRITABLE_DIRECTORY = "/proc";

/** An emulator on a busy machine takes seconds to start a runtime of 100 MB. */
const DEADLINE_MS = 60_000;

const ARM_LIBRARIES = "/usr/aarch64-linux-gnu";

/** How to test a target: natively if it is this machine's platform, and in an emulator if that tests something more. */
export function runnersFor(target: ReleaseTarget): readonly Runner[] {
  const native: Runner = { name: "native", prefix: [], missing: undefined };
  switch (target.platform) {
    case "linux-x86_64":
      return [
        ...(arch() === "x64" ? [native] : []),
        // Nehalem is the oldest CPU that the baseline runtime is built for: no AVX, no AVX2.
        emulator("qemu-x86_64", ["-cpu", "Nehalem"], undefined),
      ];
    case "linux-aarch64":
      return arch() === "arm64"
        ? [native]
        : [emulator("qemu-aarch64", ["-L", ARM_LIBRARIES], `${ARM_LIBRARIES}/lib`)];
    case "darwin-x86_64":
    case "darwin-aarch64":
      return [];
    default:
      return target.platform satisfies never;
  }
}

function emulator(command: string, args: readonly string[], libraries: string | undefined): Runner {
  const missing = [
    ...(Bun.which(command) === null ? ["qemu-user"] : []),
    ...(libraries !== undefined && !existsSync(libraries) ? ["libc6-arm64-cross"] : []),
  ];
  return {
    name: command,
    prefix: [command, ...args],
    missing: missing.length > 0 ? missing.join(" and ") : undefined,
  };
}

/**
 * Runs `--version`, then the daemon on a free port with an empty HOME, in a directory it cannot write to.
 *
 * @param interrupted kills the started process
 */
export async function smoke(
  binary: string,
  version: string,
  runner: Runner,
  interrupted: AbortSignal,
): Promise<Result<string, string>> {
  const home = await mkdtemp(join(tmpdir(), "mur-roost-smoke-"));
  const signal = AbortSignal.any([interrupted, AbortSignal.timeout(DEADLINE_MS)]);
  try {
    const command = [...runner.prefix, binary];
    const versioned = await checkVersion(command, version, home, signal);
    return versioned.ok ? await checkHealth(command, home, signal) : versioned;
  } finally {
    await rm(home, { recursive: true, force: true });
  }
}

async function checkVersion(
  command: readonly string[],
  version: string,
  home: string,
  signal: AbortSignal,
): Promise<Result<string, string>> {
  const child = Bun.spawn([...command, "--version"], {
    cwd: UNWRITABLE_DIRECTORY,
    env: { HOME: home },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
    signal,
  });
  const [output, complaint] = await Promise.all([child.stdout.text(), child.stderr.text()]);
  const code = await child.exited;
  if (code === 0 && output === `mur-roost ${version}\n` && complaint === "") return ok(output.trim());
  return fault(
    `--version ended with ${child.signalCode ?? code}, stdout ${JSON.stringify(output)}, stderr ${JSON.stringify(complaint)}`,
  );
}

async function checkHealth(
  command: readonly string[],
  home: string,
  signal: AbortSignal,
): Promise<Result<string, string>> {
  const start = { command, args: ["--port", "0"], home, cwd: UNWRITABLE_DIRECTORY, signal };
  let daemon: DaemonProcess;
  try {
    daemon = await startDaemonProcess(start);
  } catch (error) {
    return fault(messageOf(error));
  }
  const answer = await askHealth(daemon.url, signal);
  const ended = await daemon.stop();
  if (answer !== "200 {}") return fault(`GET /health answered ${answer}; ${daemon.stderr().trim()}`);
  if (ended !== 0) return fault(`SIGTERM ended it with ${ended} instead of 0; ${daemon.stderr().trim()}`);
  return ok("--version, health check and SIGTERM");
}

async function askHealth(url: string, signal: AbortSignal): Promise<string> {
  try {
    const response = await fetch(`${url}/health`, { signal });
    return `${response.status} ${await response.text()}`;
  } catch (error) {
    return `nothing: ${String(error)}`;
  }
}
