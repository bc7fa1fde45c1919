/**
 * `npm run test:soak -- RUNS [--busy] [--nice] [FILE...]`: runs all tests, or these files, again and again.
 *
 * Runs alternate between an idle machine, two busy loops beside the tests, and `nice -n 19`. A switch makes all runs of
 * its kind. One line per run gives its verdict and time. The output of a failed run is kept in a file. Exits 1 if a run
 * failed.
 */

import { closeSync, mkdtempSync, openSync, rmSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { ROOT } from "./compile.ts";

type Kind = "plain" | "busy" | "nice";

const LOOPS = 2;
/** A loop that ends with this process, however that ends. */
const BUSY = ["sh", "-c", 'while kill -0 "$PPID"; do :; done 2> /dev/null'];

interface Options {
  readonly runs: number;
  readonly kinds: readonly Kind[];
  readonly files: readonly string[];
}

/** The arguments, or one sentence if they cannot be read. */
function readOptions(args: readonly string[]): Options | string {
  const kinds = (["busy", "nice"] as const).filter((kind) => args.includes(`--${kind}`));
  const [runs, ...files] = args.filter((arg) => arg !== "--busy" && arg !== "--nice");
  if (runs === undefined || !/^[1-9]\d{0,5}$/.test(runs))
    return "say how many runs: a whole number from 1 on";
  const unknown = files.find((file) => file.startsWith("-"));
  if (unknown !== undefined) return `unknown switch ${unknown}: there are --busy and --nice`;
  return { runs: Number(runs), kinds: kinds.length > 0 ? kinds : ["plain", "busy", "nice"], files };
}

/** The processes that were started and have not ended, each in its own process group. */
const running = new Set<Bun.Subprocess>();

function start(command: readonly string[], output: number | "ignore"): Bun.Subprocess {
  const child = Bun.spawn([...command], {
    cwd: ROOT,
    stdio: ["ignore", output, output],
    // In its own group, so that an interrupt also ends what it starts.
    detached: true,
  });
  running.add(child);
  void child.exited.finally(() => running.delete(child));
  return child;
}

async function end(child: Bun.Subprocess): Promise<void> {
  if (running.has(child)) process.kill(-child.pid, "SIGTERM");
  await child.exited;
}

/** What tests left behind must not slow down the next run. */
function endLeftovers(group: number): void {
  try {
    process.kill(-group, "SIGKILL");
  } catch {
    // Nothing is left.
  }
}

let isStopped = false;

const say = (line: string) => void process.stdout.write(`${line}\n`);

/** Runs the tests once. Returns whether all passed. */
async function run(kind: Kind, files: readonly string[], log: string): Promise<boolean> {
  const loops = kind === "busy" ? LOOPS : 0;
  const beside = Array.from({ length: loops }, () => start(BUSY, "ignore"));
  const output = openSync(log, "w");
  try {
    const patience = kind === "nice" ? ["nice", "-n", "19"] : [];
    const tests = start([...patience, "npm", "test", "--", ...files], output);
    const status = await tests.exited;
    endLeftovers(tests.pid);
    return status === 0;
  } finally {
    closeSync(output);
    await Promise.all(beside.map(end));
  }
}

async function soak({ runs, kinds, files }: Options): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), "mur-roost-test-soak-"));
  say(`${runs} runs of npm test on ${availableParallelism()} cores`);
  let red = 0;
  for (let index = 0; index < runs; index++) {
    const kind = kinds[index % kinds.length] ?? "plain";
    const log = join(folder, `run-${index + 1}-${kind}.txt`);
    const began = performance.now();
    const isGreen = await run(kind, files, log);
    const seconds = Math.round((performance.now() - began) / 1000);
    const verdict = isGreen ? "green" : `red: ${log}`;
    if (isStopped) {
      say("stopped");
      rmSync(log);
      break;
    }
    say(`${String(index + 1).padStart(3)}  ${kind.padEnd(5)}  ${String(seconds).padStart(4)} s  ${verdict}`);
    if (isGreen) rmSync(log);
    else red++;
  }
  if (red === 0) rmSync(folder, { recursive: true });
  if (!isStopped) say(red === 0 ? `all ${runs} green` : `${red} of ${runs} red`);
  return red === 0 && !isStopped ? 0 : 1;
}

for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
  process.on(signal, () => {
    isStopped = true;
    for (const child of running) void end(child);
  });
}

const options = readOptions(process.argv.slice(2));
if (typeof options === "string") {
  process.stderr.write(`test-soak: ${options}\n`);
  process.exit(2);
}
process.exit(await soak(options));
