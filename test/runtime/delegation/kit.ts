import { onTestFinished } from "bun:test";
import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { DelegationIdentity } from "../../../src/runtime/delegation/completion.ts";
import type { Descriptor } from "../../../src/sys/descriptors.ts";
import { openDirectoryPath } from "../../../src/sys/entries.ts";
import { coordinates } from "../parent.ts";

/**
 * A directory that is gone once the test has finished that calls this. A hook of this module would not do: files that
 * run in one process share the module, and its hooks are the first file's.
 */
export function scratch(): string {
  const path = realpathSync(mkdtempSync(join(tmpdir(), "mur-roost-delegation-")));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

export function hold(path: string): Descriptor {
  const opened = openDirectoryPath(path);
  if (!opened.ok) throw new Error(`${path}: ${opened.fault}`);
  return opened.value;
}

export function identity(more: Partial<DelegationIdentity> = {}): DelegationIdentity {
  return {
    ...coordinates("local/worker"),
    delegationId: "dlg_0193",
    sessionId: "ses_0193",
    workdir: { path: "/home/me/.murmur/records/home/me/project/ses_0192/children/worker-3f2a" },
    ...more,
  };
}
