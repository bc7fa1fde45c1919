/**
 * The copy of a folder's tree (roost-api, "Workdir snapshot").
 *
 * Both trees are walked by descriptor and every entry is opened without following a link, then looked at: what a name
 * was when it was listed decides only how it is opened. So the copy stays inside the two folders, and never waits,
 * while other processes rewrite either.
 */

import { type Entry, listDirectory } from "../posix/listing.ts";
import {
  close,
  createFileAt,
  type Descriptor,
  type Errno,
  type Kind,
  makeDirectoryAt,
  makeLinkAt,
  type Name,
  openDirectoryAt,
  openForReadingAt,
  type Posix,
  readLinkAt,
  removeAt,
  type Status,
  setMode,
  setModified,
  statusAt,
  statusOf,
} from "../posix.ts";
import { fault, ok, type Result } from "../result.ts";
import { createDescent, type Descent, identityOf } from "../tree/descent.ts";
import { type Account, openAccount, type SkipReason, skip } from "./account.ts";
import { cloneWhole, copyContent, type Means } from "./content.ts";
import { repoint } from "./links.ts";

export interface CopyTask {
  readonly from: Descriptor;
  /** Empty; its own mode and time are left as they are. */
  readonly to: Descriptor;
  /** The paths that name the folder, and the one that names the copy: what links are re-pointed by. */
  readonly fromPaths: readonly Uint8Array[];
  readonly toPath: Uint8Array;
  /** Bytes of content at most. */
  readonly ceiling: number;
  /** Directories that are not copied, by identity, wherever they lie. */
  readonly ownedDirectories: ReadonlySet<string>;
  /** Names that are not copied at the top level, as texts. */
  readonly ownedNames: readonly string[];
}

/** Why a copy was not finished. */
export type CopyFault =
  | { readonly kind: "ceiling" }
  | { readonly kind: "aborted" }
  /** What could not be done, as a participle, to which entry, and the error. */
  | { readonly kind: "failed"; readonly doing: Doing; readonly path: string; readonly errno: Errno };

export type Doing = "opened" | "listed" | "made" | "written" | "filled" | "finished" | "removed";

/** Told at every step how far the copy is; `false` gives it up. */
export type Watch = (account: Account, bytesUnderWay: number) => boolean;

/** A directory that is being copied; the folder itself has no name in it, and keeps what the copy has. */
interface Level {
  readonly directory: { readonly name: Name; readonly status: Status } | undefined;
  readonly entries: readonly Entry[];
  next: number;
}

interface Copy {
  readonly task: CopyTask;
  readonly watch: Watch;
  readonly account: Account;
  readonly source: Descent;
  readonly destination: Descent;
  readonly means: Map<number, Means>;
}

type Step = Result<void, CopyFault>;
const DONE: Step = ok(undefined);
const ABORTED: Result<never, CopyFault> = fault({ kind: "aborted" });

/** The permission bits that are copied: no setuid, no setgid, no sticky bit. */
const RWX = 0o777;
const WHILE_FILLED = 0o700;
/** Of a path that a fault names. */
const QUOTED_PATH = 1024;
/** These say something of this process or machine, not of the entry. */
const NO_FAULT_OF_ENTRY: readonly Errno[] = ["EMFILE", "ENFILE", "ENOMEM"];

/** Copies all that `task.from` holds. What was copied before a fault stays where it is. */
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

/** A directory's mode and time come last: filling it changes the one and may be forbidden by the other. */
function finishDirectory(copy: Copy, status: Status): Step {
  const directory = copy.destination.directory();
  if (directory === undefined) return failed(copy, "finished", [], "ESTALE");
  const set = finish(directory, status);
  if (!set.ok) return failed(copy, "finished", [], set.fault);
  copy.source.leave();
  copy.destination.leave();
  return DONE;
}

function finish(descriptor: Descriptor, status: Status): Posix<void> {
  const set = setMode(descriptor, status.mode & RWX);
  return set.ok ? setModified(descriptor, status.modified) : set;
}

/** One entry; a directory is made, entered, and given back to be filled. */
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
  // Pointed into the copy, a target can become too long. The parent's own place must not be used instead.
  if (!made.ok && moved && made.fault === "ENAMETOOLONG") return skipped(copy, name, "unreadable");
  if (!made.ok) return failed(copy, "made", [name], made.fault);
  copy.account.symlinks++;
  if (moved) copy.account.repointedSymlinks++;
  return ok(undefined);
}

function copyFile(copy: Copy, from: Descriptor, to: Descriptor, name: Name): Result<undefined, CopyFault> {
  const opened = openForReadingAt(from, name);
  if (!opened.ok) return unreadable(copy, name, opened.fault);
  try {
    const status = statusOf(opened.value);
    if (!status.ok) return unreadable(copy, name, status.fault);
    switch (status.value.kind) {
      case "file":
        break;
      case "fifo":
      case "socket":
      case "device":
        return skipped(copy, name, status.value.kind);
      default:
        return skipped(copy, name, "unreadable");
    }
    if (copy.account.bytes + status.value.size > copy.task.ceiling) return fault({ kind: "ceiling" });
    return writeFile(copy, opened.value, status.value, to, name);
  } finally {
    close(opened.value);
  }
}

function writeFile(
  copy: Copy,
  from: Descriptor,
  status: Status,
  to: Descriptor,
  name: Name,
): Result<undefined, CopyFault> {
  const means = meansFor(copy, status.device);
  const clone = cloneWhole(from, status, means, to, name);
  const created = clone.ok ? clone : createFileAt(to, name);
  if (!created.ok) return failed(copy, "made", [name], created.fault);
  try {
    let underWay = 0;
    const advance = (bytes: number) => {
      underWay += bytes;
      return copy.watch(copy.account, underWay);
    };
    const copied = clone.ok ? ok(status.size) : copyContent(from, created.value, status, means, advance);
    if (!copied.ok) {
      if (copied.fault.side === "abort") return ABORTED;
      if (copied.fault.side === "destination") return failed(copy, "written", [name], copied.fault.errno);
      const removed = removeAt(to, name);
      if (!removed.ok) return failed(copy, "removed", [name], removed.fault);
      return unreadable(copy, name, copied.fault.errno);
    }
    const set = finish(created.value, status);
    if (!set.ok) return failed(copy, "finished", [name], set.fault);
    copy.account.files++;
    copy.account.bytes += copied.value;
    return ok(undefined);
  } finally {
    close(created.value);
  }
}

function meansFor(copy: Copy, device: number): Means {
  const known = copy.means.get(device) ?? { clone: true, withinKernel: true };
  copy.means.set(device, known);
  return known;
}

function pathOf(copy: Copy, names: readonly Name[]): Name[] {
  return [...copy.source.names(), ...names];
}

function skipped(copy: Copy, name: Name, reason: SkipReason): Result<undefined, never> {
  skip(copy.account, () => pathOf(copy, [name]), reason);
  return ok(undefined);
}

/** An entry that cannot be opened or read, has vanished, or is another by now. */
function unreadable(copy: Copy, name: Name, errno: Errno): Result<undefined, CopyFault> {
  if (NO_FAULT_OF_ENTRY.includes(errno)) return failed(copy, "opened", [name], errno);
  return skipped(copy, name, "unreadable");
}

function failed(copy: Copy, doing: Doing, names: readonly Name[], errno: Errno): Result<never, CopyFault> {
  const path = Buffer.concat(pathOf(copy, names).flatMap((name) => [Buffer.from("/"), name])).toString();
  return fault({ kind: "failed", doing, path: path.slice(1, 1 + QUOTED_PATH), errno });
}
