/** Programs run as an ordinary user, even if root runs the tests, because root can read everything. */

import { chmodSync, copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { compiledBinary } from "../kit/binary.ts";

const NOBODY = 65534;

export interface OrdinaryUser {
  /** Put before a command. */
  readonly prefix: readonly string[];
  /** The daemon's executable where this user may start it. */
  readonly binary: string;
  /** A directory of this user's own. */
  readonly home: string;
  /** Runs a line of shell; its exit code. */
  run(script: string): Promise<number>;
  remove(): void;
}

export function createOrdinaryUser(): OrdinaryUser {
  const isRoot = process.getuid?.() === 0;
  const directory = mkdtempSync(join(tmpdir(), "mur-roost-user-"));
  const binary = isRoot ? join(directory, "mur-roost") : compiledBinary();
  if (isRoot) {
    copyFileSync(compiledBinary(), binary);
    chmodSync(directory, 0o777);
  }
  const prefix = isRoot
    ? ["setpriv", `--reuid=${NOBODY}`, `--regid=${NOBODY}`, "--clear-groups", "--inh-caps=-all", "--"]
    : [];
  return {
    prefix,
    binary,
    home: directory,
    run: (script) =>
      Bun.spawn([...prefix, "sh", "-c", script], { stdin: "ignore", stdout: "ignore", stderr: "ignore" })
        .exited,
    remove: () => rmSync(directory, { recursive: true, force: true }),
  };
}
