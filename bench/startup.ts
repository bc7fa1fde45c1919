/**
 * How large the daemon is, how soon it listens, and how much memory it holds when idle: the released build, variants of
 * it, and the source. Prints a table of medians.
 *
 * `bun bench/startup.ts [--runs N] [binary…]`: named binaries are measured too. Runs are interleaved, so that other load
 * on the machine affects every row alike.
 */
import { mkdtemp, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { parseArgs } from "node:util";
import { compile, ROOT } from "../scripts/compile.ts";
import { median } from "./row.ts";

type Candidate = {
  readonly name: string;
  readonly command: readonly string[];
  /** The executable; none for the source. */
  readonly file: string | undefined;
};

type Sample = {
  /** From just before exec to the `listening` line, in milliseconds. */
  readonly listening: number;
  /** Resident memory half a second later, in MB, and the part of it that is not backed by a file. */
  readonly resident: number;
  readonly anonymous: number;
};

/** Long enough for what a runtime does after its start: compiler threads, the first garbage collections. */
const SETTLE_MS = 500;

const { values, positionals } = parseArgs({
  options: { runs: { type: "string", default: "20" } },
  allowPositionals: true,
});
const runs = Number(values.runs);
if (!Number.isSafeInteger(runs) || runs < 1) throw new Error("--runs takes a whole number from 1");

const scratch = await mkdtemp(join(tmpdir(), "mur-roost-bench-"));
try {
  const candidates = [...(await compileVariants(scratch)), ...positionals.map(fromFile), source()];
  const samples = new Map<Candidate, Sample[]>(candidates.map((candidate) => [candidate, []]));
  // The first round does not count. It puts every file into the page cache.
  for (const candidate of candidates) await measure(candidate, scratch);
  for (let run = 0; run < runs; run++) {
    for (const [candidate, taken] of samples) taken.push(await measure(candidate, scratch));
  }
  await printTable(samples);
} finally {
  await rm(scratch, { recursive: true, force: true });
}

async function compileVariants(directory: string): Promise<readonly Candidate[]> {
  const variants = [
    { name: "as released (minified, bytecode)", variant: {} },
    { name: "minified, no bytecode", variant: { bytecode: false } },
    { name: "bytecode, not minified", variant: { minify: false } },
    { name: "neither", variant: { bytecode: false, minify: false } },
  ];
  const candidates: Candidate[] = [];
  for (const [index, { name, variant }] of variants.entries()) {
    const outfile = join(directory, String(index), "mur-roost");
    await compile({ outfile, variant });
    candidates.push({ name, command: [outfile], file: outfile });
  }
  return candidates;
}

function fromFile(file: string): Candidate {
  return { name: basename(file), command: [file], file };
}

function source(): Candidate {
  return {
    name: "`bun src/main.ts`",
    command: [process.execPath, join(ROOT, "src/main.ts")],
    file: undefined,
  };
}

async function measure(candidate: Candidate, home: string): Promise<Sample> {
  const started = performance.now();
  const daemon = Bun.spawn([...candidate.command, "--port", "0"], {
    cwd: ROOT,
    env: { HOME: home },
    stdin: "ignore",
    stdout: "ignore",
    stderr: "pipe",
  });
  try {
    let written = "";
    for await (const chunk of daemon.stderr.pipeThrough(new TextDecoderStream())) {
      written += chunk;
      if (!written.includes("listening on")) continue;
      const listening = performance.now() - started;
      await Bun.sleep(SETTLE_MS);
      return { listening, ...(await readMemory(daemon.pid)) };
    }
    throw new Error(`${candidate.name} ended before it listened: ${written}`);
  } finally {
    daemon.kill("SIGKILL");
    await daemon.exited;
  }
}

/** Linux: the kernel's figures, which are in KiB. */
async function readMemory(pid: number): Promise<Pick<Sample, "resident" | "anonymous">> {
  const status = await readFile(`/proc/${pid}/status`, "utf8");
  const field = (name: string) =>
    (Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, "m").exec(status)?.[1]) * 1024) / 1e6;
  return { resident: field("VmRSS"), anonymous: field("RssAnon") };
}

async function printTable(samples: ReadonlyMap<Candidate, readonly Sample[]>): Promise<void> {
  const lines = [
    "| | Size | `listening` after | fastest | Resident when idle | of it anonymous |",
    "|---|---|---|---|---|---|",
  ];
  for (const [{ name, file }, taken] of samples) {
    const size = file === undefined ? "—" : `${((await stat(file)).size / 1e6).toFixed(1)} MB`;
    const figure = (key: keyof Sample, unit: string) =>
      `${median(taken.map((sample) => sample[key])).toFixed(1)} ${unit}`;
    const fastest = Math.min(...taken.map(({ listening }) => listening)).toFixed(1);
    lines.push(
      `| ${name} | ${size} | ${figure("listening", "ms")} | ${fastest} ms | ${figure("resident", "MB")} | ${figure("anonymous", "MB")} |`,
    );
  }
  process.stdout.write(`${lines.join("\n")}\n\nMedians of ${runs} interleaved runs.\n`);
}
