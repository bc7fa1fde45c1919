/** A server to measure: its own process with stderr in a file, as an operator would run it. */

import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

export interface Server {
  readonly port: number;
  readonly pid: number;
  /** Milliseconds from its start until its log says that it listens. */
  readonly listeningAfterMs: number;
  stop(): Promise<void>;
}

const DEADLINE_MS = 30_000;

/**
 * Starts it and waits until its log says that it listens.
 *
 * @throws {Error} with its output if it ends before that, or takes longer than half a minute
 */
export async function startServer(options: {
  readonly command: readonly string[];
  readonly home: string;
  /** The file for its stderr, which is overwritten. */
  readonly log: string;
  readonly env?: Readonly<Record<string, string>>;
}): Promise<Server> {
  await Bun.write(options.log, "");
  const started = performance.now();
  const child = Bun.spawn([...options.command], {
    stdin: "ignore",
    stdout: "ignore",
    stderr: Bun.file(options.log),
    env: { PATH: process.env.PATH ?? "", ...options.env, HOME: options.home },
  });
  for (;;) {
    const written = readFileSync(options.log, "utf8");
    const port = /listening on 127\.0\.0\.1:([0-9]+)/.exec(written)?.[1];
    if (port !== undefined) {
      const listeningAfterMs = performance.now() - started;
      const stop = async () => {
        child.kill("SIGTERM");
        await child.exited;
      };
      return { port: Number(port), pid: child.pid, listeningAfterMs, stop };
    }
    if (child.exitCode !== null || performance.now() - started > DEADLINE_MS) {
      child.kill("SIGKILL");
      throw new Error(`${options.command[0]} does not listen: ${written.trim()}`);
    }
    await sleep(1);
  }
}
