/** A host that refuses `statx`, as old seccomp policies do: artifacts are read, and known, all the same. */

import { expect, test } from "bun:test";
import { join } from "node:path";
import { askSpawn, createHome, registerRoot, startCompiled } from "./kit.ts";

const PYTHON = "/usr/bin/python3";

test.skipIf(process.platform !== "linux" || !Bun.which(PYTHON))("statx refused with EPERM", async () => {
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
