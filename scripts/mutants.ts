/**
 * `npm run mutants -- [folder…]`: changes one thing at a time in `src/<folder>` and runs `test/<folder>` on each change.
 * Prints the changes that no test noticed. It works on copies and deletes them at the end.
 */

import { cpSync, existsSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { API } from "typescript/unstable/async";
import { ROOT } from "./compile.ts";
import { type Change, changesOf } from "./mutants/changes.ts";

const FOLDERS = ["referee", "tokens", "sessions", "registry", "census", "api"];
/** A change can make a loop endless. A run that takes this much longer than the unchanged one counts as noticed. */
const LONGEST_RUN = { factor: 5, moreMs: 5_000 };
/** The limit of the first run, whose normal duration is not known yet. */
const FIRST_RUN_MS = 300_000;

interface Mutant extends Change {
  /** From the root of the tree. */
  readonly file: string;
  readonly source: string;
}

const running = new Set<Bun.Subprocess>();
const copies: string[] = [];

function cleanUp(): void {
  for (const test of running) test.kill("SIGKILL");
  for (const copy of copies) rmSync(copy, { recursive: true, force: true });
}

for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.on(signal, () => {
    cleanUp();
    process.exit(130);
  });
}

try {
  process.exitCode = await main(process.argv.slice(2));
} finally {
  cleanUp();
}

async function main(asked: readonly string[]): Promise<number> {
  const unknown = asked.find((folder) => !FOLDERS.includes(folder));
  if (unknown !== undefined) return say(`mutants: '${unknown}' is none of ${FOLDERS.join(", ")}`);
  const folders = asked.length > 0 ? asked : FOLDERS;
  const trees = Array.from({ length: Math.min(2, availableParallelism()) }, copyTree);
  const limits = new Map<string, number>();
  for (const folder of folders) {
    const started = performance.now();
    const failed = await firstFailure(trees[0] ?? ROOT, folder, FIRST_RUN_MS);
    if (failed) return say(`mutants: test/${folder} fails before anything is changed:\n${failed}`);
    limits.set(folder, Math.round(LONGEST_RUN.factor * (performance.now() - started)) + LONGEST_RUN.moreMs);
  }
  for (const [folder, limitMs] of limits) {
    const mutants = await mutantsOf(folder);
    const queue = [...mutants];
    const survivors: Mutant[] = [];
    const work = async (tree: string) => {
      for (let mutant = queue.shift(); mutant; mutant = queue.shift()) {
        if (!(await isNoticed(tree, folder, limitMs, mutant))) survivors.push(mutant);
      }
    };
    await Promise.all(trees.map(work));
    survivors.sort((one, other) => one.file.localeCompare(other.file) || one.start - other.start);
    for (const { file, line, what } of survivors) process.stdout.write(`${file}:${line}: ${what}\n`);
    const noticed = mutants.length - survivors.length;
    const share = ((100 * noticed) / Math.max(1, mutants.length)).toFixed(1);
    process.stdout.write(`${folder}: ${noticed} of ${mutants.length} changes noticed (${share} %)\n`);
  }
  return 0;
}

function say(fault: string): number {
  process.stderr.write(`${fault}\n`);
  return 1;
}

/** Copies tracked and new files from the work tree, and links the dependencies. */
function copyTree(): string {
  const tree = mkdtempSync(join(tmpdir(), "mur-roost-mutants-"));
  copies.push(tree);
  for (const file of filesOf("")) cpSync(join(ROOT, file), join(tree, file));
  symlinkSync(join(ROOT, "node_modules"), join(tree, "node_modules"));
  return tree;
}

/** The existing files of a folder, relative to the root of the tree. */
function filesOf(folder: string): string[] {
  const list = Bun.spawnSync(
    ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate", `./${folder}`],
    { cwd: ROOT },
  );
  if (!list.success) throw new Error(`git ls-files: ${list.stderr.toString().trim()}`);
  const listed = list.stdout.toString().split("\0");
  return listed.filter((file) => file !== "" && existsSync(join(ROOT, file)));
}

async function mutantsOf(folder: string): Promise<Mutant[]> {
  const api = new API({ cwd: ROOT });
  try {
    const snapshot = await api.updateSnapshot({ openProject: join(ROOT, "tsconfig.json") });
    const [project] = snapshot.getProjects();
    const mutants: Mutant[] = [];
    for (const file of filesOf(`src/${folder}`).filter((name) => name.endsWith(".ts"))) {
      const parsed = await project?.program.getSourceFile(join(ROOT, file));
      if (!parsed) throw new Error(`${file} is not part of ${join(ROOT, "tsconfig.json")}`);
      for (const change of changesOf(parsed)) mutants.push({ ...change, file, source: parsed.text });
    }
    return mutants;
  } finally {
    await api.close();
  }
}

async function isNoticed(
  tree: string,
  folder: string,
  limitMs: number,
  { file, source, start, end, text }: Mutant,
): Promise<boolean> {
  const path = join(tree, file);
  writeFileSync(path, source.slice(0, start) + text + source.slice(end));
  try {
    return (await firstFailure(tree, folder, limitMs)) !== undefined;
  } finally {
    writeFileSync(path, source);
  }
}

/** What the tests of a folder print if one fails; `undefined` if all pass. */
async function firstFailure(tree: string, folder: string, limitMs: number): Promise<string | undefined> {
  const test = Bun.spawn(
    [process.execPath, "test", "--bail", "--timeout", String(limitMs), `test/${folder}/`],
    { cwd: tree, stdio: ["ignore", "ignore", "pipe"], timeout: limitMs, killSignal: "SIGKILL" },
  );
  running.add(test);
  const printed = await new Response(test.stderr).text();
  const code = await test.exited;
  running.delete(test);
  return code === 0 ? undefined : printed;
}
