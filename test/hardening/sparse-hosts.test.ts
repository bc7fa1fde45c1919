/** Hosts that refuse a system call, or have no thread left: artifacts are read all the same. */

import { expect, test } from "bun:test";
import { chmodSync, copyFileSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startDaemonProcess } from "../../examples/daemon-process.ts";
import { askSpawn, BINARY, createHome, type Home, registerRoot, startCompiled } from "./kit.ts";

const PYTHON = "/usr/bin/python3";
const isLinux = process.platform === "linux";

test.skipIf(!isLinux || !Bun.which(PYTHON))("statx refused with EPERM", async () => {
  const home = await createHome();
  const refusing = [PYTHON, join(import.meta.dir, "../kit/refuse-statx.py")];
  const daemon = await startCompiled(home, { prefix: refusing });
  try {
    const credential = await registerRoot(daemon, "ses_root");
    for (const what of ["read", "known"]) {
      const { status, body } = await askSpawn(daemon, credential);
      expect([what, status, body.error]).toEqual([what, 200, undefined]);
    }
  } finally {
    await daemon.stop();
    home.remove();
  }
});

/** The limit counts all processes of a user, so this one must have none; root alone can become it. */
const USER = 61_000 + (process.pid % 4000);

test.skipIf(!isLinux || process.getuid?.() !== 0)("no thread more than it has when it listens", async () => {
  const home = await createHome();
  const directory = mkdtempSync(join(tmpdir(), "mur-roost-threads-"));
  const binary = join(directory, "mur-roost");
  copyFileSync(BINARY, binary);
  for (const path of [directory, home.path]) chmodSync(path, 0o755);
  try {
    const free = await start(home, binary, []);
    const threads = readdirSync(`/proc/${free.pid}/task`).length;
    await free.stop();

    const bound = await start(home, binary, ["prlimit", `--nproc=${threads}`]);
    try {
      const credential = await registerRoot(bound, "ses_root");
      expect((await askSpawn(bound, credential)).status).toBe(200);
      expect(readdirSync(`/proc/${bound.pid}/task`).length).toBeLessThanOrEqual(threads);
    } finally {
      await bound.stop();
    }
  } finally {
    rmSync(directory, { recursive: true });
    home.remove();
  }
});

function start(home: Home, binary: string, limit: readonly string[]) {
  const user = [`--reuid=${USER}`, `--regid=${USER}`, "--clear-groups", "--inh-caps=-all"];
  return startDaemonProcess({
    command: [...limit, "setpriv", ...user, "--", binary],
    args: ["--port", "0", "--spawn-allow", "local/parent"],
    home: home.path,
    cwd: home.path,
  });
}
