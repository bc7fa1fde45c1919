/**
 * `npm run mutants -- [folder…] [--every=<n>]`: changes one thing at a time in `src/<folder>` and runs the tests of that
 * folder on each change. A folder or a file within one of them may be named too, `registry/zip`; `--every=6` tries every
 * sixth change alone. It prints what no test noticed. It works on copies of the tree it is started in, and leaves nothing
 * behind.
 */

import { existsSync } from "node:fs";
import { availableParallelism } from "node:os";
import { dirname, join } from "node:path";
import { type Mutant, mutantsOf } from "./mutants/changes.ts";
import { loadedBy } from "./mutants/loads.ts";
import { filesOf, type RunLimits, type TestRun, WorkingCopy } from "./mutants/working-copy.ts";

const ROOT = process.cwd();
const FOLDERS = ["referee", "tokens", "sessions", "registry", "census", "api"];
/**
 * The limits of a run with a change. A change can make a loop endless, so a run that takes far longer counts as noticed.
 */
function limitsAfter(unchanged: readonly RunLimits[]): RunLimits {
  const sum = (of: keyof RunLimits) => unchanged.reduce((total, run) => total + run[of], 0);
  return { cpuSeconds: Math.ceil(3 * sum("cpuSeconds")) + 3, wallMs: Math.ceil(10 * sum("wallMs")) + 30_000 };
}
/** For the first run, about which nothing is known yet. */
const FIRST_RUN: RunLimits = { cpuSeconds: 300, wallMs: 600_000 };
const EVERY = "--every=";
const EXIT_INTERRUPTED = 130;

const copies: WorkingCopy[] = [];
let isInterrupted = false;

for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
  process.on(signal, () => {
    isInterrupted = true;
    // Their runs end now, and so does everything that waits for one.
    for (const copy of copies) copy.stop();
  });
}

try {
  const code = await main(process.argv.slice(2));
  process.exitCode = isInterrupted ? EXIT_INTERRUPTED : code;
} finally {
  for (const copy of copies) copy.remove();
}

async function main(words: readonly string[]): Promise<number> {
  const asked = words.filter((word) => !word.startsWith(EVERY));
  const every = Number(words.find((word) => word.startsWith(EVERY))?.slice(EVERY.length) ?? 1);
  if (!(Number.isInteger(every) && every > 0))
    return say(`mutants: ${EVERY}<n> takes a whole number from 1 on`);
  const unknown = asked.find(
    (folder) => !FOLDERS.includes(topOf(folder)) || !existsSync(join("src", folder)),
  );
  if (unknown !== undefined) return say(`mutants: '${unknown}' is none of ${FOLDERS.join(", ")}`);
  const folders = asked.length > 0 ? asked : FOLDERS;
  for (let count = Math.min(2, availableParallelism()); count > 0; count--)
    copies.push(new WorkingCopy(ROOT));
  const unchanged = new Map<string, RunLimits>();
  for (const test of new Set(folders.flatMap(testsOf))) {
    const first = await copies[0]?.test([test], FIRST_RUN);
    if (isInterrupted || !first) return EXIT_INTERRUPTED;
    if (!first.passed) {
      return say(`mutants: ${test} fails before anything is changed, so nothing was:\n${first.printed}`);
    }
    unchanged.set(test, first);
  }
  for (const folder of folders) {
    await tryAll(folder, unchanged, every);
    if (isInterrupted) return EXIT_INTERRUPTED;
  }
  return 0;
}

/** Tries the changes of a folder, and prints which ones its tests do not notice. */
async function tryAll(
  folder: string,
  unchanged: ReadonlyMap<string, RunLimits>,
  every: number,
): Promise<void> {
  const all = await mutantsOf(ROOT, filesOf(ROOT, `src/${folder}`));
  const mutants = all.filter((_, index) => index % every === 0);
  const costOf = (test: string) => unchanged.get(test)?.cpuSeconds ?? 0;
  const tests = [...testsOf(folder)].sort((one, other) => costOf(one) - costOf(other));
  const files = new Set(mutants.map(({ file }) => file));
  const asked = new Map([...files].map((file) => [file, nearestFirst(tests, file)] as const));
  const queue = [...mutants];
  const survivors: Mutant[] = [];
  let endless = 0;
  const work = async (copy: WorkingCopy) => {
    for (let mutant = queue.shift(); mutant && !isInterrupted; mutant = queue.shift()) {
      const { file, source, start, end, text } = mutant;
      copy.write(file, source.slice(0, start) + text + source.slice(end));
      let run: TestRun | undefined;
      for (const some of asked.get(file) ?? []) {
        run = await copy.test(some, limitsAfter(some.map((test) => unchanged.get(test) ?? FIRST_RUN)));
        if (!run.passed) break;
      }
      copy.write(file, source);
      if (run?.wasCut) endless++;
      else if (!run || run.passed) survivors.push(mutant);
    }
  };
  await Promise.all(copies.map(work));
  if (isInterrupted) return;
  survivors.sort((one, other) => one.file.localeCompare(other.file) || one.start - other.start);
  for (const { file, line, what } of survivors) process.stdout.write(`${file}:${line}: ${what}\n`);
  const noticed = mutants.length - survivors.length;
  const share = ((100 * noticed) / Math.max(1, mutants.length)).toFixed(1);
  process.stdout.write(
    `${folder}: ${noticed} of ${mutants.length} changes noticed (${share} %), ${endless} of them by a run that did not end\n`,
  );
}

function topOf(folder: string): string {
  return folder.split("/", 1)[0] ?? "";
}

/** All files of tests that are asked about a folder's changes. */
function testsOf(folder: string): readonly string[] {
  return filesOf(ROOT, `test/${topOf(folder)}/`).filter((name) => name.endsWith(".test.ts"));
}

/** The tests that load the file, as they are asked: its own, which is the likeliest to notice, its neighbours, the rest. */
function nearestFirst(tests: readonly string[], file: string): readonly (readonly string[])[] {
  const own = file.replace(/^src/, "test").replace(/\.ts$/, ".test.ts");
  const isNear = (test: string) => dirname(test) === dirname(own);
  const able = tests.filter((test) => loadedBy(test).has(file));
  return [
    able.filter((test) => test === own),
    able.filter((test) => test !== own && isNear(test)),
    able.filter((test) => !isNear(test)),
  ].filter((some) => some.length > 0);
}

function say(fault: string): number {
  process.stderr.write(`${fault.trimEnd()}\n`);
  return 1;
}
