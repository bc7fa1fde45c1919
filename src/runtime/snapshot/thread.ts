/**
 * The thread that copies. Its calls block as long as the disk does, so they must not run where requests are served.
 *
 * It runs from a text (`thread.bundle.txt`, written by `scripts/snapshot-thread.ts`). A compiled program has no module
 * to start a thread from, unless its author names one as an entry point.
 */

import { ok } from "../../result.ts";
import { emptyDirectory } from "../tree/remove.ts";
import {
  type Account,
  type Copied,
  type CopyTask,
  closeAccount,
  type SnapshotProgress,
  type WorkdirSnapshot,
} from "./account.ts";
import { copyTree } from "./copy.ts";

/** What the thread is sent, once. */
export interface ThreadOrder {
  readonly task: CopyTask;
  /** The folder, as the account names it. */
  readonly source: string;
  /** One 32-bit number. Anything but 0 cancels the copy. */
  readonly abort: SharedArrayBuffer;
}

/** What the thread answers: any number of the first, then one of the second. */
export type ThreadReport =
  | { readonly kind: "progress"; readonly progress: SnapshotProgress }
  | { readonly kind: "end"; readonly copied: Copied<WorkdirSnapshot> };

/** The shortest time between two progress reports. */
const PROGRESS_MS = 100;

declare const self: Worker;

self.onmessage = ({ data }: MessageEvent<ThreadOrder>) => report({ kind: "end", copied: run(data) });

function report(message: ThreadReport): void {
  postMessage(message);
}

function run({ task, source, abort }: ThreadOrder): Copied<WorkdirSnapshot> {
  const aborted = new Int32Array(abort);
  let told = performance.now();
  const copied = copyTree(task, (account, underWay) => {
    const now = performance.now();
    if (now - told >= PROGRESS_MS) {
      told = now;
      reportProgress(account, underWay);
    }
    return Atomics.load(aborted, 0) === 0;
  });
  if (copied.ok) {
    reportProgress(copied.value, 0);
    return ok(closeAccount(copied.value, source));
  }
  // An unfinished copy is removed here, in the thread, so that removing its folder later is quick.
  const removal = emptyDirectory(task.to);
  while (!removal.next().done);
  return copied;
}

function reportProgress({ files, dirs, symlinks, bytes }: Account, underWay: number): void {
  report({ kind: "progress", progress: { files, dirs, symlinks, bytes: bytes + underWay } });
}
