/**
 * The workdir snapshot compared with `cp -a`: both copy a tree of 20,000 files and 2 GB, warm in the page cache, in turn.
 * `bun bench/snapshot.ts [folder] [rounds]`: the folder (default: the system's for temporary files) is on the file system
 * to measure, and needs 4.5 GB.
 *
 * Before each run the pages written by the previous one are flushed, so that it does not slow this one down.
 */

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { snapshotWorkdir } from "../src/runtime/snapshot/snapshot.ts";
import { holdDirectory } from "../src/runtime/tree/held.ts";
import { openDirectoryPath } from "../src/sys/entries.ts";
import { median } from "./row.ts";

const FILES = 20_000;
const BYTES = 2e9;
const FILES_A_DIRECTORY = 40;

/** File sizes: many small, few large, as in a folder of sources, packages and builds. Always the same. */
function* sizes(): Generator<number> {
  let seed = 1;
  const random = () => {
    seed = (seed * 48_271) % 2_147_483_647;
    return seed / 2_147_483_647;
  };
  let left = BYTES;
  for (let file = 1; file < FILES; file++) {
    const size = Math.min(Math.floor(random() ** 6 * 690_000), left);
    left -= size;
    yield size;
  }
  yield left;
}

function makeTree(root: string): void {
  const content = new Uint8Array(64 * 1024 * 1024);
  crypto.getRandomValues(content.subarray(0, 65_536));
  for (let at = 65_536; at < content.length; at *= 2) content.copyWithin(at, 0, at);
  let file = 0;
  for (const size of sizes()) {
    const number = Math.floor(file / FILES_A_DIRECTORY);
    const directory = join(root, `d${number % 20}`, `d${number}`);
    if (file % FILES_A_DIRECTORY === 0) mkdirSync(directory, { recursive: true });
    const path = join(directory, `f${file++}`);
    for (let written = 0; written === 0 || written < size; written += content.length) {
      writeFileSync(path, content.subarray(0, Math.min(size - written, content.length)), { flag: "a" });
    }
  }
}

function held(path: string) {
  const opened = openDirectoryPath(path);
  if (!opened.ok) throw new Error(`${path}: ${opened.fault}`);
  return holdDirectory(path, opened.value);
}

type Copier = (source: string, copy: string) => Promise<void>;

const cp: Copier = async (source, copy) => {
  const status = await Bun.spawn(["cp", "-a", source, copy]).exited;
  if (status !== 0) throw new Error(`cp ended with ${status}`);
};

const snapshot: Copier = async (source, copy) => {
  mkdirSync(copy);
  const [from, to] = [held(source), held(copy)];
  const made = await snapshotWorkdir({
    source: from,
    destination: to,
    ceilingBytes: BYTES,
    runtimeOwned: [],
  });
  from.close();
  to.close();
  if (!made.ok) throw new Error(made.fault.message);
  if (made.value.files !== FILES || made.value.bytes !== BYTES) throw new Error(JSON.stringify(made.value));
};

interface Run {
  readonly took: number;
  /** How late the event loop was at worst, checked every millisecond. */
  readonly delay: number;
}

async function run(source: string, copier: Copier): Promise<Run> {
  const copy = join(source, "..", "copy");
  await Bun.spawn(["sync", "-f", source]).exited;
  const start = performance.now();
  let last = start;
  let delay = 0;
  const timer = setInterval(() => {
    const now = performance.now();
    delay = Math.max(delay, now - last - 1);
    last = now;
  }, 1);
  await copier(source, copy);
  const took = performance.now() - start;
  clearInterval(timer);
  rmSync(copy, { recursive: true });
  return { took, delay };
}

function row(...cells: readonly string[]): void {
  process.stdout.write(
    `${cells.map((cell, at) => (at === 0 ? cell.padEnd(10) : cell.padStart(12))).join("")}\n`,
  );
}

async function main(base: string, rounds: number): Promise<void> {
  const folder = mkdtempSync(join(base, "snapshot-bench-"));
  try {
    const source = join(folder, "source");
    mkdirSync(source);
    makeTree(source);
    const copiers = [
      { name: "cp -a", copier: cp, runs: [] as Run[] },
      { name: "snapshot", copier: snapshot, runs: [] as Run[] },
    ];
    // The first round is a warm-up and does not count.
    for (let round = 0; round <= rounds; round++) {
      for (const { copier, runs } of copiers) {
        const measured = await run(source, copier);
        if (round > 0) runs.push(measured);
      }
    }
    row("", "median", "least", "most", "loop delay");
    for (const { name, runs } of copiers) {
      const times = runs.map(({ took }) => took);
      const shown = [
        median(times),
        Math.min(...times),
        Math.max(...times),
        Math.max(...runs.map(({ delay }) => delay)),
      ];
      row(name, ...shown.map((ms) => `${ms.toFixed(0)} ms`));
    }
    const [theirs, ours] = copiers.map(({ runs }) => median(runs.map(({ took }) => took)));
    process.stdout.write(
      `the snapshot has ${((theirs ?? 0) / (ours ?? 0)).toFixed(2)} of the speed of cp -a\n`,
    );
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const [, , base = tmpdir(), rounds = "9"] = process.argv;
await main(base, Number(rounds));
