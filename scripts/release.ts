/**
 * `npm run release`: builds, checks and lays out a release in `dist/release/`, on Linux, from this repository alone.
 *
 * `--skip-second-build` leaves out the proof that a second build gives the same bytes.
 */
import { chmod, mkdir, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { VERSION } from "../src/version.ts";
import { compile, ROOT } from "./compile.ts";
import { checksumLines, sha256OfFile } from "./release/checksums.ts";
import { checkGlibc, readVersionNeeds } from "./release/elf-versions.ts";
import { JIT_ENTITLEMENTS } from "./release/entitlements.ts";
import { signAdHoc } from "./release/macho-sign.ts";
import { faultsAgainst, verifyMachO } from "./release/macho-verify.ts";
import { failure, type Outcome, success } from "./release/outcome.ts";
import { checkPinnedVersion, fetchRuntime, runtimePath } from "./release/runtime.ts";
import { runnersFor, smoke } from "./release/smoke.ts";
import { type Staging, stageRelease } from "./release/staging.ts";
import { runSteps, type Step } from "./release/steps.ts";
import { type ReleaseTarget, releaseFileName, TARGETS } from "./release/targets.ts";

const PLACE = join(ROOT, "dist/release");
const CHECKSUMS = "checksums.txt";

/** What the Linux binaries may need of glibc at most. */
const NEWEST_GLIBC: readonly [number, number] = [2, 34];

const IDENTIFIER = "mur-roost";

/** What the verifier must find, said apart from what the signer was told to write. */
const EXPECTED_SIGNATURE = {
  identifier: IDENTIFIER,
  team: "",
  version: 0x20400,
  flags: 0x2,
  pageSize: 4096,
  entitlements: JIT_ENTITLEMENTS,
};

/** Every runtime is fetched and checked before anything is built from one. */
function runtimeStep(target: ReleaseTarget, staging: Staging, interrupted: AbortSignal): Step {
  return {
    target: target.platform,
    name: "runtime",
    run: async () => {
      const fetched = await fetchRuntime(target, runtimeDirectory(target, staging), interrupted);
      return fetched.ok ? success(`${fetched.value}, SHA-512 as pinned`) : fetched;
    },
  };
}

function runtimeDirectory(target: ReleaseTarget, { work }: Staging): string {
  return join(work, "runtimes", target.platform);
}

function buildSteps(
  target: ReleaseTarget,
  staging: Staging,
  interrupted: AbortSignal,
  buildTwice: boolean,
): readonly Step[] {
  const { files, work } = staging;
  const runtime = runtimePath(runtimeDirectory(target, staging));
  const file = join(files, releaseFileName(VERSION, target));
  const step = (name: string, run: Step["run"]): Step => ({ target: target.platform, name, run });
  return [
    step("build", async () => {
      const built = await build(target, runtime, file, join(work, "first"));
      if (!built.ok) return built;
      return success(`${((await stat(file)).size / 1e6).toFixed(1)} MB`);
    }),
    ...(target.format === "mach-o"
      ? [step("signature", () => checkSignature(file))]
      : [step("glibc", () => checkVersionNeeds(file))]),
    ...runnersFor(target).map((runner) =>
      step(`run (${runner.name})`, async () =>
        runner.missing === undefined
          ? smoke(file, VERSION, runner, interrupted)
          : success(`skipped: install ${runner.missing} to try this`),
      ),
    ),
    ...(buildTwice ? [step("second build", () => compareSecondBuild(target, runtime, file, work))] : []),
  ];
}

/** Compiles and, for macOS, signs; always under one name, because the bundler writes that name into the file. */
async function build(
  target: ReleaseTarget,
  runtime: string,
  file: string,
  scratch: string,
): Promise<Outcome<undefined>> {
  const compiled = join(scratch, "mur-roost");
  await compile({
    outfile: compiled,
    cross: { target: target.bunTarget, runtime },
  });
  if (target.format === "mach-o") {
    const signed = signAdHoc(await readFile(compiled), {
      identifier: IDENTIFIER,
      entitlements: JIT_ENTITLEMENTS,
    });
    if (!signed.ok) return signed;
    await writeFile(compiled, signed.value);
  }
  await mkdir(dirname(file), { recursive: true });
  await rename(compiled, file);
  await rm(scratch, { recursive: true });
  return success(undefined);
}

async function checkSignature(file: string): Promise<Outcome<string>> {
  const report = verifyMachO(await readFile(file));
  if (typeof report === "string") return failure(report);
  const faults = faultsAgainst(report, EXPECTED_SIGNATURE);
  if (faults.length > 0) return failure(faults.join("; "));
  return success(`ad hoc, all ${report.pageHashes.length} page hashes match`);
}

async function checkVersionNeeds(file: string): Promise<Outcome<string>> {
  const needs = readVersionNeeds(await readFile(file));
  if (!needs.ok) return needs;
  const newest = checkGlibc(needs.value, NEWEST_GLIBC);
  return newest.ok ? success(`needs ${newest.value} at most`) : newest;
}

async function compareSecondBuild(
  target: ReleaseTarget,
  runtime: string,
  file: string,
  work: string,
): Promise<Outcome<string>> {
  const again = join(work, "again", releaseFileName(VERSION, target));
  const built = await build(target, runtime, again, join(work, "second"));
  if (!built.ok) return built;
  const [first, second] = await Promise.all([sha256OfFile(file), sha256OfFile(again)]);
  if (first !== second) return failure(`the bytes differ: SHA-256 ${first}, then ${second}`);
  await rm(again);
  return success(`the same bytes, SHA-256 ${first}`);
}

async function writeChecksums({ files }: Staging): Promise<Outcome<string>> {
  const names = await readdir(files);
  const path = join(files, CHECKSUMS);
  await writeFile(path, await checksumLines(files, names));
  await chmod(path, 0o644);
  return success(`${names.length} files`);
}

async function main(flags: readonly string[]): Promise<Outcome<undefined>> {
  const unknown = flags.find((flag) => flag !== "--skip-second-build");
  if (unknown !== undefined)
    return failure(`unknown argument: ${unknown} (only --skip-second-build is known)`);
  if (process.platform !== "linux") return failure("a release is built on Linux: its checks run Linux files");
  const pinned = checkPinnedVersion(Bun.version);
  if (!pinned.ok) return pinned;

  const interruption = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => interruption.abort(signal));
  const write = (line: string) => void process.stdout.write(`${line}\n`);
  write(`mur-roost ${VERSION} on Bun ${pinned.value}`);
  const buildTwice = !flags.includes("--skip-second-build");
  return await stageRelease(PLACE, (staging) =>
    runSteps(
      [
        ...TARGETS.map((target) => runtimeStep(target, staging, interruption.signal)),
        ...TARGETS.flatMap((target) => buildSteps(target, staging, interruption.signal, buildTwice)),
        { target: "release", name: "checksums", run: () => writeChecksums(staging) },
      ],
      write,
      () => performance.now(),
      interruption.signal,
    ),
  );
}

const place = relative(process.cwd(), PLACE) || ".";
const released = await main(process.argv.slice(2));
if (released.ok) {
  process.stdout.write(`${place}: ${(await readdir(PLACE)).sort().join(" ")}\n`);
} else {
  process.stderr.write(`release: ${released.fault}\nrelease: ${place} is as it was before\n`);
}
process.exit(released.ok ? 0 : 1);
