/** `npm run formation` as a process, on a registry of the test file's own. */

import { join } from "node:path";
import { shared } from "../kit/shared.ts";
import { spawns, testRegistry } from "./kit.ts";

export const MAIN = join(import.meta.dir, "../../src/cli/formation/main.ts");
export const ROOT = "local/root@1.0.0";
export const WHOLE = "local/whole@1.0.0";

export interface Run {
  readonly status: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Called at the top of a test file. */
export function sharedCommand() {
  const registry = shared(async (undo) => {
    const made = undo.use(testRegistry());
    await made.publish(ROOT, spawns("local/a", "local/b"));
    await made.publish("local/a@1.0.0");
    await made.publish("local/a@1.1.0", { shell: { allow: ["git"] } });
    await made.publish(WHOLE, spawns("local/leaf"));
    await made.publish("local/leaf@1.0.0");
    made.publishBytes("local/broken@1.0.0", Buffer.from("no archive"));
    return made;
  });

  /** Runs it to its end. */
  async function formation(args: readonly string[], env: Record<string, string> = {}): Promise<Run> {
    const child = Bun.spawn([process.execPath, MAIN, ...args], {
      stdio: ["ignore", "pipe", "pipe"],
      // Without a home, Bun would keep what it transpiled in the current folder.
      env: { HOME: registry().path, BUN_RUNTIME_TRANSPILER_CACHE_PATH: "0", ...env },
    });
    const [stdout, stderr, status] = await Promise.all([
      child.stdout.text(),
      child.stderr.text(),
      child.exited,
    ]);
    return { status, stdout, stderr };
  }

  /** The same on the shared registry. */
  const here = (...args: string[]) => formation([...args, "--registry-path", registry().path]);

  return { registry, formation, here };
}
