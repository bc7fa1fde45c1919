/**
 * The thread that copies a folder's tree (API page, "Workdir snapshot"). Its calls block as long as the disk does, so
 * they must not run where requests are served.
 *
 * Both trees are walked by descriptor. Every entry is opened without following a link, and only then inspected: what
 * the listing said about it only decides how it is opened. So the copy stays inside the two folders and never waits,
 * even if other processes change either folder meanwhile.
 *
 * The thread runs from a text (`thread.bundle.txt`, written by `scripts/snapshot-thread.ts`). A compiled program has no
 * module to start a thread from, unless its author names one as an entry point.
 */

import { ok } from "../../result.ts";
import { close, type Descriptor } from "../../sys/descriptors.ts";
import { makeDirectoryAt, type Name, openDirectoryAt } from "../../sys/entries.ts";
import type { Posix } from "../../sys/library.ts";
import { type Entry, type Kind, listDirectory, type Status, statusAt, statusOf } from "../../sys/status.ts";
import { createDescent, identityOf } from "../tree/descent.ts";
import { emptyDirectory } from "../tree/remove.ts";
import {
  ABORTED,
  type Account,
  type Copied,
  type Copy,
  type CopyTask,
  closeAccount,
  failed,
  OWNED_NAMES,
  openAccount,
  type SnapshotProgress,
  skipped,
  unreadable,
  type WorkdirSnapshot,
} from "./account.ts";
import { copyFile, finish } from "./copy-file.ts";
import { copyLink } from "./links.ts";

/** What the thread is sent, once. */
export interface ThreadOrder {
  readonly task: CopyTask;
  /** The folder, as the account names it. */
  readonly source: string;
  /** One 32-bit number. Anything but 0 cancels the copy. */
  readonly abort: SharedArrayBuffer;
}

/** What the thread answers: how far it is, any number of times, and at last how it ended. */
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
  const account = openAccount();
  const tell = (bytesUnderWay: number) => {
    const { files, dirs, symlinks, bytes } = account;
    report({ kind: "progress", progress: { files, dirs, symlinks, bytes: bytes + bytesUnderWay } });
  };
  let told = performance.now();
  const goOn = (bytesUnderWay: number) => {
    const now = performance.now();
    if (now - told >= PROGRESS_MS) {
      told = now;
      tell(bytesUnderWay);
    }
    return Atomics.load(aborted, 0) === 0;
  };
  const copied = copyTree(task, account, goOn);
  if (copied.ok) {
    tell(0);
    return ok(closeAccount(account, source));
  }
  // An unfinished copy is removed here, in the thread, so that removing its folder later is quick.
  const removal = emptyDirectory(task.to);
  while (!removal.next().done);
  return copied;
}

/** A directory that is being copied. `status`: what its copy will get. The top's own mode and time are left alone. */
interface Level {
  readonly status: Status | undefined;
  readonly entries: readonly Entry[];
  next: number;
}

const DONE: Copied = ok(undefined);
const WHILE_FILLED = 0o700;

/** Copies everything in `task.from`. What was copied before a fault stays there. */
function copyTree(task: CopyTask, account: Account, goOn: Copy["goOn"]): Copied {
  const source = createDescent(task.from);
  const destination = createDescent(task.to);
  try {
    return copyAll({ task, account, goOn, source, destination, means: new Map() });
  } finally {
    source.close();
    destination.close();
  }
}

function copyAll(copy: Copy): Copied {
  const entries = listDirectory(copy.task.from);
  if (!entries.ok) return failed(copy, "listed", [], entries.fault);
  const levels: Level[] = [{ status: undefined, entries: entries.value, next: 0 }];
  for (let level = levels.at(-1); level; level = levels.at(-1)) {
    if (!copy.goOn(0)) return ABORTED;
    const entry = level.entries[level.next++];
    if (entry) {
      const entered = copyEntry(copy, entry, levels.length === 1);
      if (!entered.ok) return entered;
      if (entered.value) levels.push(entered.value);
      continue;
    }
    levels.pop();
    const finished = level.status ? finishDirectory(copy, level.status) : DONE;
    if (!finished.ok) return finished;
  }
  return DONE;
}

/** A directory's mode and time are set last. Filling it changes the time, and its mode may forbid filling it. */
function finishDirectory(copy: Copy, status: Status): Copied {
  const directory = copy.destination.directory();
  if (directory === undefined) return failed(copy, "finished", [], "ESTALE");
  const set = finish(directory, status);
  if (!set.ok) return failed(copy, "finished", [], set.fault);
  copy.source.leave();
  copy.destination.leave();
  return DONE;
}

/** Copies one entry. A directory is made, opened, and returned to be filled. */
function copyEntry(copy: Copy, entry: Entry, atTop: boolean): Copied<Level | undefined> {
  const { name } = entry;
  const owned = atTop && OWNED_NAMES.some((one) => Buffer.compare(one, name) === 0);
  if (owned) return skipped(copy, name, "runtime-owned");
  const from = copy.source.directory();
  const to = copy.destination.directory();
  if (from === undefined) return skipped(copy, name, "unreadable");
  if (to === undefined) return failed(copy, "filled", [], "ESTALE");
  const kind = entry.kind === "unknown" ? kindAt(from, name) : entry.kind;
  switch (kind) {
    case "directory":
      return copyDirectory(copy, from, to, name);
    case "link":
      return copyLink(copy, from, to, name);
    case "file":
      return copyFile(copy, from, to, name);
    default:
      return skipped(copy, name, kind === "unknown" ? "unreadable" : kind);
  }
}

function kindAt(directory: Descriptor, name: Name): Kind {
  const status = statusAt(directory, name);
  return status.ok ? status.value.kind : "unknown";
}

function copyDirectory(copy: Copy, from: Descriptor, to: Descriptor, name: Name): Copied<Level | undefined> {
  const opened = openDirectoryAt(from, name);
  if (!opened.ok) return unreadable(copy, name, opened.fault);
  const inspected = inspect(copy, opened.value);
  if (!inspected.ok || !inspected.value) {
    close(opened.value);
    return inspected.ok ? skipped(copy, name, "runtime-owned") : unreadable(copy, name, inspected.fault);
  }
  const { status, entries } = inspected.value;
  copy.source.enter(name, opened.value, status);
  const made = makeDirectory(to, name);
  if (!made.ok) return failed(copy, "made", [], made.fault);
  copy.destination.enter(name, made.value.descriptor, made.value.status);
  copy.account.dirs++;
  return ok({ status, entries, next: 0 });
}

/** `undefined`: it is the runtime's own, and is not copied. */
function inspect(copy: Copy, directory: Descriptor): Posix<{ status: Status; entries: Entry[] } | undefined> {
  const status = statusOf(directory);
  if (!status.ok) return status;
  if (copy.task.ownedDirectories.has(identityOf(status.value))) return ok(undefined);
  const entries = listDirectory(directory);
  return entries.ok ? ok({ status: status.value, entries: entries.value }) : entries;
}

function makeDirectory(parent: Descriptor, name: Name): Posix<{ descriptor: Descriptor; status: Status }> {
  const made = makeDirectoryAt(parent, name, WHILE_FILLED);
  const opened = made.ok ? openDirectoryAt(parent, name) : made;
  if (!opened.ok) return opened;
  const status = statusOf(opened.value);
  if (status.ok) return ok({ descriptor: opened.value, status: status.value });
  close(opened.value);
  return status;
}
