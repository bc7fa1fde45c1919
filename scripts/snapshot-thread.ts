/** Writes the script that the copying thread runs: `bun scripts/snapshot-thread.ts`. A test fails when it is stale. */

import { join } from "node:path";

const SNAPSHOT = join(import.meta.dir, "..", "src", "runtime", "snapshot");
export const THREAD_TEXT = join(SNAPSHOT, "thread.bundle.txt");

/** The thread's module and its imports as one script. */
export async function bundleThread(): Promise<string> {
  const built = await Bun.build({
    entrypoints: [join(SNAPSHOT, "thread.ts")],
    target: "bun",
    format: "esm",
  });
  const [script] = built.outputs;
  if (!script) throw new Error("the bundler wrote nothing");
  return script.text();
}

if (import.meta.main) await Bun.write(THREAD_TEXT, await bundleThread());
