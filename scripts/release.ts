/**
 * `npm run release`: builds and checks a release in `dist/release/`, on Linux.
 *
 * `--skip-second-build` skips the check that a second build gives the same bytes. `--with-checksums FILE` adds the lines
 * of another program's checksum file to this one's.
 */
import { chmod, mkdir, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { userPath } from "../src/cli/user-paths.ts";
import { messageOf } from "../src/os-error.ts";
import { fault, ok, type Result } from "../src/result.ts";
import { VERSION } from "../src/version.ts";
import { compile, ROOT } from "./compile.ts";
import { billOfMaterialsName, billOfMaterialsText } from "./release/bill-of-materials.ts";
import { bundledPackages } from "./release/bundled.ts";
import { checksumLines, mergeChecksums, otherChecksums, sha256OfFile } from "./release/checksums.ts";
import { checkGlibc, readVersionNeeds } from "./release/elf-versions.ts";
import { JIT_ENTITLEMENTS } from "./release/entitlements.ts";
import { parseReleaseFlags } from "./release/flags.ts";
import { signAdHoc } from "./release/macho-sign.ts";
import { faultsAgainst, verifyMachO } from "./release/macho-verify.ts";
import { NOTICES, noticesText } from "./release/notices.ts";
import { checkPinnedVersion, fetchRuntime, runtimePath } from "./release/runtime.ts";
import { runtimeParts } from "./release/runtime-parts.ts";
import { runnersFor, smoke } from "./release/smoke.ts";
import { type Staging, stageRelease } from "./release/staging.ts";
import { runSteps, type Step } from "./release/steps.ts";
import { type ReleaseTarget, releaseFileName, TARGETS } from "./release/targets.ts";

const PLACE = join(ROOT, "dist/release");
const CHECKSUMS = "checksums.txt";

/** The newest glibc that the Linux binaries may need. */
const NEWEST_GLIBC: readonly [number, number] = [2, 34];

const IDENTIFIER = "mur-roost";

/** What the verifier must find. It is not taken from the signer's input, so that it is an independent check. */
const EXPECTED_SIGNATURE = {
  identifier: IDENTIFIER,
  team: "",
  version: 0x20400,
  flags: 0x2,
  pageSize: 4096,
  entitlements: JIT_ENTITLEMENTS,
};

/** Fetches and checks a runtime. All of them are ready before the first build. */
function runtimeStep(target: ReleaseTarget, staging: Staging, interrupted: AbortSignal): Step {
  return {
    target: target.platform,
    name: "runtime",
    run: async () => {
      const fetched = await fetchRuntime(target, runtimeDirectory(target, staging), interrupted);
      return fetched.ok ? ok(`${fetched.value}, SHA-512 as pinned`) : fetched;
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
  onBuilt: (bundle: Bun.BuildMetafile) => void,
): readonly Step[] {
  const { files, work } = staging;
  const runtime = runtimePath(runtimeDirectory(target, staging));
  const file = join(files, releaseFileName(VERSION, target));
  const step = (name: string, run: Step["run"]): Step => ({ target: target.platform, name, run });
  return [
    step("build", async () => {
      const built = await build(target, runtime, file, join(work, "first"));
      if (!built.ok) return built;
      onBuilt(built.value);
      return ok(`${((await stat(file)).size / 1e6).toFixed(1)} MB`);
    }),
    ...(target.format === "mach-o"
      ? [step("signature", () => checkSignature(file))]
      : [step("glibc", () => checkVersionNeeds(file))]),
    ...runnersFor(target).map((runner) =>
      step(`run (${runner.name})`, async () =>
        runner.missing === undefined
          ? smoke(file, VERSION, runner, interrupted)
          : ok(`skipped: install ${runner.missing} to try this`),
      ),
    ),
    ...(buildTwice ? [step("second build", () => compareSecondBuild(target, runtime, file, work))] : []),
  ];
}

/** Compiles and, for macOS, signs. The name is always the same, because the bundler writes it into the file. */
async function build(
  target: ReleaseTarget,
  runtime: string,
  file: string,
  scratch: string,
): Promise<Result<Bun.BuildMetafile, string>> {
  const compiled = join(scratch, "mur-roost");
  const metafile = await compile({
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
  return ok(metafile);
}

async function checkSignature(file: string): Promise<Result<string, string>> {
  const report = verifyMachO(await readFile(file));
  if (typeof report === "string") return fault(report);
  const faults = faultsAgainst(report, EXPECTED_SIGNATURE);
  if (faults.length > 0) return fault(faults.join("; "));
  return ok(`ad hoc, all ${report.pageHashes.length} page hashes match`);
}

async function checkVersionNeeds(file: string): Promise<Result<string, string>> {
  const needs = readVersionNeeds(await readFile(file));
  if (!needs.ok) return needs;
  const newest = checkGlibc(needs.value, NEWEST_GLIBC);
  return newest.ok ? ok(`needs ${newest.value} at most`) : newest;
}

async function compareSecondBuild(
  target: ReleaseTarget,
  runtime: string,
  file: string,
  work: string,
): Promise<Result<string, string>> {
  const again = join(work, "again", releaseFileName(VERSION, target));
  const built = await build(target, runtime, again, join(work, "second"));
  if (!built.ok) return built;
  const [first, second] = await Promise.all([sha256OfFile(file), sha256OfFile(again)]);
  if (first !== second) return fault(`the bytes differ: SHA-256 ${first}, then ${second}`);
  await rm(again);
  return ok(`the same bytes, SHA-256 ${first}`);
}

/** Fails unless all four executables contain the same packages, because one list describes them all. */
async function writeContents(
  { files }: Staging,
  bundles: readonly Bun.BuildMetafile[],
): Promise<Result<string, string>> {
  const [packages = [], ...others] = await Promise.all(bundles.map(bundledPackages));
  if (others.some((other) => !Bun.deepEquals(other, packages))) {
    return fault("the executables do not all hold the same packages");
  }
  const contents = { runtime: Bun.version, parts: runtimeParts(), packages };
  await writeText(join(files, NOTICES), await noticesText(contents));
  await writeText(join(files, billOfMaterialsName(VERSION)), billOfMaterialsText(VERSION, contents));
  return ok(`Bun with ${contents.parts.length} libraries, and ${packages.length} packages`);
}

async function writeChecksums(
  { files }: Staging,
  others: readonly string[],
): Promise<Result<string, string>> {
  const names = await readdir(files);
  const own = await checksumLines(files, names);
  await writeText(join(files, CHECKSUMS), mergeChecksums(own, others));
  const more = others.length > 0 ? ` and ${others.length} of another program` : "";
  return ok(`${names.length} files${more}`);
}

/** Writes a file that everyone can read, whatever the umask. */
async function writeText(path: string, text: string): Promise<void> {
  await writeFile(path, text);
  await chmod(path, 0o644);
}

async function readOtherChecksums(path: string | undefined): Promise<Result<string[], string>> {
  if (path === undefined) return ok([]);
  try {
    return otherChecksums(await readFile(userPath(path), "utf8"), path, VERSION);
  } catch (error) {
    return fault(`--with-checksums: ${messageOf(error)}`);
  }
}

async function main(args: readonly string[]): Promise<Result<undefined, string>> {
  const flags = parseReleaseFlags(args);
  if (!flags.ok) return flags;
  const { buildTwice, withChecksums } = flags.value;
  const others = await readOtherChecksums(withChecksums);
  if (!others.ok) return others;
  if (process.platform !== "linux") return fault("a release is built on Linux: its checks run Linux files");
  const pinned = checkPinnedVersion(Bun.version);
  if (!pinned.ok) return pinned;

  const interruption = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"])
    process.once(signal, () => interruption.abort(signal));
  const write = (line: string) => void process.stdout.write(`${line}\n`);
  write(`mur-roost ${VERSION} on Bun ${pinned.value}`);
  const bundles: Bun.BuildMetafile[] = [];
  return await stageRelease(PLACE, (staging) =>
    runSteps(
      [
        ...TARGETS.map((target) => runtimeStep(target, staging, interruption.signal)),
        ...TARGETS.flatMap((target) =>
          buildSteps(target, staging, interruption.signal, buildTwice, (bundle) => bundles.push(bundle)),
        ),
        { target: "release", name: "contents", run: () => writeContents(staging, bundles) },
        { target: "release", name: "checksums", run: () => writeChecksums(staging, others.value) },
      ],
      write,
      () => performance.now(),
      interruption.signal,
    ),
  );
}

const place = relative(process.cwd(), PLACE) || ".";
const released = await main(process.argv.slice(2)).catch((error) => fault(messageOf(error)));
if (released.ok) {
  process.stdout.write(`${place}: ${(await readdir(PLACE)).sort().join(" ")}\n`);
} else {
  process.stderr.write(`release: ${released.fault}\nrelease: ${place} is unchanged\n`);
}
process.exit(released.ok ? 0 : 1);
