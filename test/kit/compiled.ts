/**
 * Programs that tests start, each compiled once as long as no source changes. They are kept on disk, because test files
 * that run in parallel share no memory, not even in one process.
 */

import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
} from "node:fs";
import { basename, join } from "node:path";
import { compile } from "./compile-program.ts";

const ROOT = join(import.meta.dir, "..", "..");
const CACHE = join(ROOT, "node_modules", ".cache", "test-programs");
/** A program that nobody has asked for so long is removed. Before that another run, also of another clone, may use it. */
const KEPT_MS = 60 * 60 * 1000;

/** Compiles the program to an executable that loads no `.env` and no `bunfig.toml`. Returns its path. */
export async function compiled(source: string): Promise<string> {
  const name = basename(source, ".ts");
  const path = join(CACHE, `${name}-${stateOfSources()}`);
  if (isThere(path)) return path;
  mkdirSync(CACHE, { recursive: true });
  // Others may compile the same program at the same time: whoever is last leaves the same one.
  const unfinished = mkdtempSync(join(CACHE, "."));
  try {
    await compile(source, join(unfinished, name));
    renameSync(join(unfinished, name), path);
  } finally {
    rmSync(unfinished, { recursive: true });
  }
  removeOld();
  return path;
}

/** Whether the program is there. If so, it counts as new again. */
function isThere(path: string): boolean {
  const now = new Date();
  try {
    utimesSync(path, now, now);
    return true;
  } catch {
    return false;
  }
}

/** Any of them may be gone by then: others tidy up here too. */
function removeOld(): void {
  for (const file of readdirSync(CACHE)) {
    const path = join(CACHE, file);
    const usedAt = statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
    if (Date.now() - usedAt > KEPT_MS) rmSync(path, { recursive: true, force: true });
  }
}

/** Changes with everything that a program of the tests can be made of. */
function stateOfSources(): string {
  const hash = new Bun.CryptoHasher("sha256");
  hash.update(Bun.version);
  for (const folder of ["src", "test", "examples"]) {
    for (const file of readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" }).sort()) {
      if (file.endsWith(".ts") && !file.includes("node_modules"))
        hash.update(file).update(readFileSync(join(ROOT, folder, file)));
    }
  }
  hash.update(readFileSync(join(ROOT, "package-lock.json")));
  return hash.digest("hex").slice(0, 16);
}
