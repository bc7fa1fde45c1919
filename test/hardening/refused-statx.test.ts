/** A host that refuses `statx`, as old seccomp policies do: artifacts are read, and known, all the same. */

import { expect, test } from "bun:test";
import { join } from "node:path";
import { createFamily } from "../kit/family.ts";

const PYTHON = "/usr/bin/python3";

test.skipIf(process.platform !== "linux" || !Bun.which(PYTHON))(
  "artifacts are read and remembered if statx is refused with EPERM",
  async () => {
    await using host = await createFamily();
    const refusing = [PYTHON, join(import.meta.dir, "../kit/refuse-statx.py")];
    const daemon = await host.start([], { prefix: refusing });
    const credential = await daemon.caller.credential("ses_root", "local/parent");
    for (const what of ["read", "known"]) {
      const { status, json } = await daemon.caller.spawn(credential, "local/child");
      expect([what, status, json.error]).toEqual([what, 200, undefined]);
    }
  },
);
