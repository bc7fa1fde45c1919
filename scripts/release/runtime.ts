/**
 * The other platforms' Bun, from npm packages whose hashes are pinned in `runtimes.json`.
 *
 * Otherwise the bundler would download them during the build, unchecked and outside the lock file.
 */
import { createHash } from "node:crypto";
import { chmod, mkdir, readFile, rename } from "node:fs/promises";
import { join } from "node:path";
import { fault, ok, type Result } from "../../src/result.ts";
import pins from "./runtimes.json" with { type: "json" };
import type { ReleaseTarget } from "./targets.ts";

const PIN_FILE = "scripts/release/runtimes.json";

/** Where the executable is in the package's tarball. */
const EXECUTABLE = "package/bin/bun";

/** Where {@link fetchRuntime} puts the executable. */
export function runtimePath(directory: string): string {
  return join(directory, "bun");
}

/** Bytecode works only in the Bun version that made it, so the runtimes must have the compiling Bun's version. */
export function checkPinnedVersion(running: string): Result<string, string> {
  if (running === pins.version) return ok(running);
  return fault(
    `${PIN_FILE} pins Bun ${pins.version} and this is Bun ${running}: run 'npm ci', or pin the new version's packages`,
  );
}

/**
 * Fetches, checks and unpacks one platform's runtime.
 *
 * @param directory gets the tarball and the executable; created if it does not exist
 * @param signal stops the download
 * @param environment of npm
 * @returns the package's name and version
 */
export async function fetchRuntime(
  target: ReleaseTarget,
  directory: string,
  signal: AbortSignal,
  environment: Readonly<Record<string, string | undefined>> = process.env,
): Promise<Result<string, string>> {
  const coordinate = `${target.runtimePackage}@${pins.version}`;
  await mkdir(directory, { recursive: true });
  // "error" hides progress and still prints errors.
  const packing = Bun.spawn(["npm", "pack", coordinate, "--ignore-scripts", "--loglevel=error"], {
    cwd: directory,
    env: environment,
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
    signal,
  });
  const [tarball, complaint] = await Promise.all([packing.stdout.text(), packing.stderr.text()]);
  if ((await packing.exited) !== 0) {
    return fault(`'npm pack ${coordinate}' failed: ${complaint.trim() || `exit ${packing.exitCode}`}`);
  }
  const unpacked = await unpackRuntime({
    tarball: join(directory, tarball.trim()),
    pin: pins.sha512[target.runtimePackage],
    coordinate,
    to: runtimePath(directory),
  });
  return unpacked.ok ? ok(coordinate) : unpacked;
}

/**
 * Checks a tarball against its pin, and only then unpacks the executable.
 *
 * @param request.pin `sha512-` and the base64 of the tarball's SHA-512, as in a lock file
 */
export async function unpackRuntime(request: {
  readonly tarball: string;
  readonly pin: string;
  readonly coordinate: string;
  readonly to: string;
}): Promise<Result<undefined, string>> {
  const bytes = await readFile(request.tarball);
  const actual = `sha512-${createHash("sha512").update(bytes).digest("base64")}`;
  if (actual !== request.pin) {
    return fault(
      `${request.coordinate} is not the package that ${PIN_FILE} pins (pinned ${request.pin}, fetched ${actual}): do not release until you know why`,
    );
  }
  const executable = (await new Bun.Archive(bytes).files(EXECUTABLE)).get(EXECUTABLE);
  if (executable === undefined) return fault(`${request.coordinate} holds no ${EXECUTABLE}`);
  // In one step: an interrupt leaves no half of it that a later run takes for the whole.
  const staged = `${request.to}.new`;
  await Bun.write(staged, executable);
  await chmod(staged, 0o755);
  await rename(staged, request.to);
  return ok(undefined);
}
