/** Programs that hold a lifeline, each in a process of its own. */

import { expect } from "bun:test";
import { closeSync } from "node:fs";
import { join } from "node:path";
import { ENGINE_WITHOUT_THREADS } from "./without-threads.ts";

const LIFELINE = join(import.meta.dir, "../../src/runtime/contract/lifeline.ts");

/** The first lines of such a program. */
export const HOLD = `
  import { holdLifeline } from "${LIFELINE}";
  const held = holdLifeline(process.env);
  if (!held.ok) { console.log(held.fault.message); process.exit(9); }
`;

/** The same for one that can start no thread. */
export const HOLD_WITHOUT_THREADS = `
  import { withoutThreads } from "${join(import.meta.dir, "without-threads.ts")}";
  import { holdLifeline } from "${LIFELINE}";
  await withoutThreads();
  const held = holdLifeline(process.env);
`;

/** Runs a program that has this as its descriptor 3, which it takes for its lifeline. */
export function run(program: string, descriptor: number | "pipe") {
  return Bun.spawn([process.execPath, "--no-env-file", "-e", program], {
    env: { PATH: process.env.PATH, MURMUR_SPAWNER_LIFELINE: "3", ...ENGINE_WITHOUT_THREADS },
    stdio: ["ignore", "pipe", "inherit", descriptor],
  });
}

/** Runs such a program, which says this word once it holds its end; `next` is what it says after that. */
export async function runUntil(word: string, program: string, readEnd: number) {
  const child = run(program, readEnd);
  closeSync(readEnd);
  const reader = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  expect((await reader.read()).value).toBe(`${word}\n`);
  return { child, next: async () => (await reader.read()).value };
}
