/**
 * The thread that copies. Its calls block as long as the disk does, so they must not run where requests are served.
 *
 * It runs from a text (`thread.bundle.txt`, written by `scripts/snapshot-thread.ts`). A compiled program has no module
 * to start a thread from, unless its author names one as an entry point.
 */

import type { Descriptor } from "../../sys/descriptors.ts";
import { emptyDirectory } from "../tree/remove.ts";
import { type Account, closeAccount, type WorkdirSnapshot } from "./account.ts";
import { copyTree } from "./copy.ts";
import type { CopyFault, CopyTask } from "./copying.ts";

/** What the thread is sent, once. */
export interface ThreadOrder {
  readonly task: CopyTask;
  /** The folder, as the account names it. */
  readonly source: string;
  /** One 32-bit number. Anything but 0 cancels the copy. */
  readonly abort: SharedArrayBuffer;
}

/** The progress of a copy. */
export interface SnapshotProgress {
  readonly files: number;
  readonly dirs: number;
  readonly symlinks: number;
  /** Bytes of contents, including those of the file in progress. */
  readonly bytes: number;
}

/** What the thread answers: any number of the first, then one of the others. */
export type ThreadReport =
  | { readonly kind: "progress"; readonly progress: SnapshotProgress }
  | { readonly kind: "copied"; readonly snapshot: WorkdirSnapshot }
  | { readonly kind: "fault"; readonly fault: CopyFault };

/** The shortest time between two progress reports. */
const PROGRESS_MS = 100;

declare const self: Worker;

self.onmessage = ({ data }: MessageEvent<ThreadOrder>) => report(run(data));

function report(message: ThreadReport): void {
  postMessage(message);
}

function run({ task, source, abort }: ThreadOrder): ThreadReport {
  const aborted = new Int32Array(abort);
  let told = performance.now();
  const copied = copyTree(task, (account, underWay) => {
    const now = performance.now();
    if (now - told >= PROGRESS_MS) {
      told = now;
      report({ kind: "progress", progress: progressOf(account, underWay) });
    }
    return Atomics.load(aborted, 0) === 0;
  });
  if (copied.ok) {
    report({ kind: "progress", progress: progressOf(copied.value, 0) });
    return { kind: "copied", snapshot: closeAccount(copied.value, source) };
  }
  takeAway(task.to);
  return { kind: "fault", fault: copied.fault };
}

/** An unfinished copy is removed here, in the thread, so that removing its folder later is quick. */
function takeAway(directory: Descriptor): void {
  const removal = emptyDirectory(directory);
  while (!removal.next().done);
}

function progressOf({ files, dirs, symlinks, bytes }: Account, underWay: number): SnapshotProgress {
  return { files, dirs, symlinks, bytes: bytes + underWay };
}
