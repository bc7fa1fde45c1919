/**
 * Copies a folder's tree (API page, "Workdir snapshot").
 *
 * Both trees are walked by descriptor. Every entry is opened without following a link, and only then inspected: what
 * the listing said about it only decides how it is opened. So the copy stays inside the two folders and never waits,
 * even if other processes change either folder meanwhile.
 */

import { ok, type Result } from "../../result.ts";
import { close, type Descriptor } from "../../sys/descriptors.ts";
import { makeDirectoryAt, makeLinkAt, type Name, openDirectoryAt, readLinkAt } from "../../sys/entries.ts";
import type { Posix } from "../../sys/library.ts";
import { type Entry, type Kind, listDirectory, type Status, statusAt, statusOf } from "../../sys/status.ts";
import { createDescent, identityOf } from "../tree/descent.ts";
import { type Account, openAccount } from "./account.ts";
import { copyFile } from "./copy-file.ts";
import {
  ABORTED,
  type Copy,
  type CopyFault,
  type CopyTask,
  failed,
  finish,
  skipped,
  unreadable,
  type Watch,
} from "./copying.ts";
import { repoint } from "./links.ts";

/**
 * A directory that is being copied. The top folder has no name here, and the copy's own mode and time are left alone.
 */
interface Level {
  readonly directory: { readonly name: Name; readonly status: Status } | undefined;
  readonly entries: readonly Entry[];
  next: number;
}

type Step = Result<void, CopyFault>;
const DONE: Step = ok(undefined);
const WHILE_FILLED = 0o700;

/** Copies everything in `task.from`. What was copied before a fault stays there. */
export function copyTree(task: CopyTask, watch: Watch): Result<Account, CopyFault> {
  const copy: Copy = {
    task,
    watch,
    account: openAccount(),
    source: createDescent(task.from),
    destination: createDescent(task.to),
    means: new Map(),
  };
  try {
    const copied = copyAll(copy);
    return copied.ok ? ok(copy.account) : copied;
  } finally {
    copy.source.close();
    copy.destination.close();
  }
}

function copyAll(copy: Copy): Step {
  const entries = listDirectory(copy.task.from);
  if (!entries.ok) return failed(copy, "listed", [], entries.fault);
  const levels: Level[] = [{ directory: undefined, entries: entries.value, next: 0 }];
  for (let level = levels.at(-1); level; level = levels.at(-1)) {
    if (!copy.watch(copy.account, 0)) return ABORTED;
    const entry = level.entries[level.next++];
    if (entry) {
      const entered = copyEntry(copy, entry, levels.length === 1);
      if (!entered.ok) return entered;
      if (entered.value) levels.push(entered.value);
      continue;
    }
    levels.pop();
    const finished = level.directory ? finishDirectory(copy, level.directory.status) : DONE;
    if (!finished.ok) return finished;
  }
  return DONE;
}

/** A directory's mode and time are set last. Filling it changes the time, and its mode may forbid filling it. */
function finishDirectory(copy: Copy, status: Status): Step {
  const directory = copy.destination.directory();
  if (directory === undefined) return failed(copy, "finished", [], "ESTALE");
  const set = finish(directory, status);
  if (!set.ok) return failed(copy, "finished", [], set.fault);
  copy.source.leave();
  copy.destination.leave();
  return DONE;
}

/** Copies one entry. A directory is made, opened, and returned to be filled. */
function copyEntry(copy: Copy, entry: Entry, atTop: boolean): Result<Level | undefined, CopyFault> {
  const { name } = entry;
  if (atTop && copy.task.ownedNames.some((owned) => Buffer.from(owned).equals(name))) {
    return skipped(copy, name, "runtime-owned");
  }
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
    case "fifo":
    case "socket":
    case "device":
      return skipped(copy, name, kind);
    case "unknown":
      return skipped(copy, name, "unreadable");
    default:
      return kind satisfies never;
  }
}

function kindAt(directory: Descriptor, name: Name): Kind {
  const status = statusAt(directory, name);
  return status.ok ? status.value.kind : "unknown";
}

function copyDirectory(
  copy: Copy,
  from: Descriptor,
  to: Descriptor,
  name: Name,
): Result<Level | undefined, CopyFault> {
  const opened = openDirectoryAt(from, name);
  if (!opened.ok) return unreadable(copy, name, opened.fault);
  const status = statusOf(opened.value);
  const owned = status.ok && copy.task.ownedDirectories.has(identityOf(status.value));
  const entries = owned ? ok([]) : listDirectory(opened.value);
  if (owned || !status.ok || !entries.ok) {
    close(opened.value);
    if (owned) return skipped(copy, name, "runtime-owned");
    return unreadable(copy, name, status.ok ? (entries.ok ? "ESTALE" : entries.fault) : status.fault);
  }
  copy.source.enter(name, opened.value, status.value);
  const made = makeDirectory(to, name);
  if (!made.ok) return failed(copy, "made", [], made.fault);
  copy.destination.enter(name, made.value.descriptor, made.value.status);
  copy.account.dirs++;
  return ok({ directory: { name, status: status.value }, entries: entries.value, next: 0 });
}

function makeDirectory(
  parent: Descriptor,
  name: Name,
): Posix<{ readonly descriptor: Descriptor; readonly status: Status }> {
  const made = makeDirectoryAt(parent, name, WHILE_FILLED);
  const opened = made.ok ? openDirectoryAt(parent, name) : made;
  if (!opened.ok) return opened;
  const status = statusOf(opened.value);
  if (status.ok) return ok({ descriptor: opened.value, status: status.value });
  close(opened.value);
  return status;
}

function copyLink(copy: Copy, from: Descriptor, to: Descriptor, name: Name): Result<undefined, CopyFault> {
  const { fromPaths, toPath } = copy.task;
  const target = readLinkAt(from, name);
  if (!target.ok) return unreadable(copy, name, target.fault);
  let moved: Uint8Array | undefined;
  for (const path of fromPaths) moved ??= repoint(target.value, path, toPath);
  const made = makeLinkAt(moved ?? target.value, to, name);
  // Pointed into the copy, a target can become too long. The link must not point to the parent's folder instead.
  if (!made.ok && moved && made.fault === "ENAMETOOLONG") return skipped(copy, name, "unreadable");
  if (!made.ok) return failed(copy, "made", [name], made.fault);
  copy.account.symlinks++;
  if (moved) copy.account.repointedSymlinks++;
  return ok(undefined);
}
