/** Folders of a test's own, and what a test needs to know of open files. */

import { lstatSync, mkdtempSync, readdirSync, realpathSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type HeldDirectory, holdDirectory } from "../../src/runtime/tree/held.ts";
import { removeTree } from "../../src/runtime/tree/remove.ts";
import { encodeName, openDirectoryPath } from "../../src/sys/entries.ts";
import { until } from "./until.ts";

export interface TestFolder {
  readonly path: string;
  /** A path inside. */
  readonly at: (...names: string[]) => string;
  /** Removes it, at any depth and with any modes. */
  readonly remove: () => void;
}

export function testFolder(): TestFolder {
  const path = mkdtempSync(join(realpathSync(tmpdir()), "mur-roost-test-"));
  const name = path.slice(path.lastIndexOf("/") + 1);
  return {
    path,
    at: (...names) => join(path, ...names),
    remove() {
      const parent = hold(join(path, ".."));
      const removal = removeTree(parent.descriptor, encodeName(name));
      for (let step = removal.next(); ; step = removal.next()) {
        if (!step.done) continue;
        if (!step.value.ok) throw new Error(`${path} could not be removed: ${step.value.fault}`);
        break;
      }
      parent.close();
    },
  };
}

export function hold(path: string): HeldDirectory {
  const opened = openDirectoryPath(path);
  if (!opened.ok) throw new Error(`${path} could not be opened: ${opened.fault}`);
  return holdDirectory(path, opened.value);
}

/** Descriptors that this process holds. */
export function openFiles(): number {
  return readdirSync(process.platform === "linux" ? "/proc/self/fd" : "/dev/fd").length;
}

/**
 * Waits until at most this many are open. A process, a thread or a stream closes its descriptors a moment after its
 * end, so a count right after it shows nothing: only a count that stays is a leak.
 */
export function noMoreFilesThan(before: number): Promise<void> {
  return until(`no more than ${before} descriptors are open`, () => {
    if (openFiles() <= before) return true;
    Bun.gc(true);
    return false;
  });
}

export const isRoot = process.geteuid?.() === 0;

/** The permission bits of an entry itself. */
export function modeOf(path: string): number {
  return lstatSync(path).mode & 0o7777;
}
