/** A daemon that was told to stop while it counted what runs. */

import { expect, test } from "bun:test";
import { join } from "node:path";
import { scratchDirectory } from "./kit/scratch.ts";

const DAEMON = join(import.meta.dir, "../src/daemon.ts");

/** What it says at its start. */
function started(isStopping: boolean): string[] {
  using home = scratchDirectory();
  const flags = { port: 0, maxDepth: 3, maxConcurrent: 4 };
  const program = `
    import { startDaemon } from ${JSON.stringify(DAEMON)};
    const flags = { ...${JSON.stringify(flags)}, spawnAllow: new Set() };
    const { ok, value } = await startDaemon(flags, { HOME: ${JSON.stringify(home.path)} }, () => ${isStopping});
    await value?.stop();
    process.exit(ok ? 0 : 1);
  `;
  const { stderr, exitCode } = Bun.spawnSync([process.execPath, "-e", program]);
  expect(exitCode).toBe(0);
  return stderr.toString().trimEnd().split("\n");
}

test("listens on no port any more", () => {
  const [counted, listening, ...more] = started(false);
  expect(counted).toStartWith("mur-roost: 0 live capsules already running");
  expect(listening).toStartWith("mur-roost: listening on 127.0.0.1:");
  expect(more).not.toBeEmpty();
  expect(started(true)).toEqual([expect.stringContaining(" live capsules already running")]);
});
