/** Programs that tests start, compiled once for all files of a process. */

import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { compile } from "../../examples/compile.ts";

declare global {
  /** By source. Each test file has modules of its own; the global object is the process's. */
  var compiledPrograms: Map<string, Promise<string>> | undefined;
}

/** The program as a binary of its own, both of Bun's autoloads off. */
export function compiled(source: string): Promise<string> {
  globalThis.compiledPrograms ??= new Map();
  const programs = globalThis.compiledPrograms;
  const known = programs.get(source) ?? compileAside(source);
  programs.set(source, known);
  return known;
}

async function compileAside(source: string): Promise<string> {
  const directory = mkdtempSync(join(tmpdir(), "mur-roost-program-"));
  removeAfterRun(directory);
  const path = join(directory, basename(source, ".ts"));
  await compile(source, path);
  return path;
}

/** A run of tests ends without an event: what hears it is a process whose input ends with it. */
function removeAfterRun(directory: string): void {
  const remover = Bun.spawn(["sh", "-c", 'cat; rm -r "$0"', directory], {
    stdio: ["pipe", "ignore", "ignore"],
  });
  remover.unref();
}
