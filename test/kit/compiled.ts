/**
 * Programs that tests start, compiled once for a state of the sources. Test files that run in parallel share no
 * memory, not even where one process runs several of them: what they share is on disk.
 */

import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import { compile } from "./compile-program.ts";

const ROOT = join(import.meta.dir, "..", "..");
const CACHE = join(ROOT, "node_modules", ".cache", "test-programs");
/** Of each program: that of the present sources, and one that another run may still be using. */
const KEPT = 2;

/** The program as a binary of its own, both of Bun's autoloads off. */
export async function compiled(source: string): Promise<string> {
  const name = basename(source, ".ts");
  const path = join(CACHE, `${name}-${stateOfSources()}`);
  if (existsSync(path)) return path;
  mkdirSync(CACHE, { recursive: true });
  const unfinished = join(CACHE, `.${name}-${process.pid}`);
  await compile(source, unfinished);
  renameSync(unfinished, path);
  const programs = readdirSync(CACHE)
    .filter((file) => file.startsWith(`${name}-`))
    .map((file) => join(CACHE, file))
    .sort((one, other) => statSync(other).mtimeMs - statSync(one).mtimeMs);
  for (const old of programs.slice(KEPT)) rmSync(old, { force: true });
  return path;
}

/** Changes with everything that a program of the tests can be made of. */
function stateOfSources(): string {
  const hash = new Bun.CryptoHasher("sha256");
  hash.update(Bun.version);
  for (const folder of ["src", "test", "examples"]) {
    for (const file of readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" }).sort()) {
      if (file.endsWith(".ts")) hash.update(file).update(readFileSync(join(ROOT, folder, file)));
    }
  }
  hash.update(readFileSync(join(ROOT, "package-lock.json")));
  return hash.digest("hex").slice(0, 16);
}
