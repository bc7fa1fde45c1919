/**
 * Removes a tree by descriptor, so that no link leads out of it, whatever the modes of its directories.
 *
 * The work is a generator that yields after each entry. A thread runs it to its end; the main thread runs it in slices.
 */

import { fault, ok } from "../../result.ts";
import { setMode } from "../../sys/content.ts";
import { close, type Descriptor } from "../../sys/descriptors.ts";
import { type Name, openDirectoryAt, removeAt, removeDirectoryAt, setModeAt } from "../../sys/entries.ts";
import type { Errno, Posix } from "../../sys/library.ts";
import { type Entry, listDirectory, type Status, statusOf } from "../../sys/status.ts";
import { createDescent, type Descent } from "./descent.ts";

/** A step of a removal. The generator returns whether everything is gone. */
type Removal = Generator<void, Posix<undefined>>;

const OWNER_ALL = 0o700;
/** The errors for an entry that is not a directory, or is gone. */
export const NO_DIRECTORY: readonly Errno[] = ["ENOTDIR", "ELOOP", "ENOENT"];
/** A directory on the way was moved out of the tree. */
const MOVED: Posix<never> = fault("ESTALE");

/** Removes an entry and, if it is a directory, everything in it. A missing entry is not an error. */
export function* removeTree(parent: Descriptor, name: Name): Removal {
  const directory = openWhateverItsMode(parent, name);
  if (!directory.ok) {
    return NO_DIRECTORY.includes(directory.fault) ? unlessGone(removeAt(parent, name)) : directory;
  }
  try {
    const emptied = yield* emptyDirectory(directory.value);
    return emptied.ok ? unlessGone(removeDirectoryAt(parent, name)) : emptied;
  } finally {
    close(directory.value);
  }
}

/** Removes everything in a directory, but not the directory. */
export function* emptyDirectory(top: Descriptor): Removal {
  const first = prepare(top);
  if (!first.ok) return first;
  const descent = createDescent(top);
  try {
    return yield* emptyFrom(first.value.entries, descent);
  } finally {
    descent.close();
  }
}

/** Lists a directory that will be emptied, and makes it writable for its user. */
function prepare(directory: Descriptor): Posix<{ status: Status; entries: Entry[] }> {
  const status = statusOf(directory);
  if (!status.ok) return status;
  if ((status.value.mode & OWNER_ALL) !== OWNER_ALL) setMode(directory, OWNER_ALL);
  const entries = listDirectory(directory);
  return entries.ok ? ok({ status: status.value, entries: entries.value }) : entries;
}

function* emptyFrom(top: Entry[], descent: Descent): Removal {
  const levels = [top];
  for (let level = levels.at(-1); level; level = levels.at(-1)) {
    yield;
    const entry = level.pop();
    if (entry) {
      const entered = removeOrEnter(descent, entry);
      if (!entered.ok) return entered;
      if (entered.value) levels.push(entered.value);
      continue;
    }
    levels.pop();
    const emptied = descent.leave();
    if (emptied === undefined) break;
    const directory = descent.directory();
    const removed = directory === undefined ? MOVED : unlessGone(removeDirectoryAt(directory, emptied));
    if (!removed.ok) return removed;
  }
  return ok(undefined);
}

/** Removes an entry, or enters it if it is a directory and returns its entries. `undefined`: nothing was entered. */
function removeOrEnter(descent: Descent, { name, kind }: Entry): Posix<Entry[] | undefined> {
  const directory = descent.directory();
  if (directory === undefined) return MOVED;
  if (kind !== "directory" && kind !== "unknown") {
    const removed = removeAt(directory, name);
    // Otherwise it became a directory after it was listed. Linux reports the first error, macOS the second.
    if (removed.ok || (removed.fault !== "EISDIR" && removed.fault !== "EPERM")) return unlessGone(removed);
  }
  const opened = openWhateverItsMode(directory, name);
  if (!opened.ok) return NO_DIRECTORY.includes(opened.fault) ? unlessGone(removeAt(directory, name)) : opened;
  const prepared = prepare(opened.value);
  if (!prepared.ok) {
    close(opened.value);
    return prepared;
  }
  descent.enter(name, opened.value, prepared.value.status);
  return ok(prepared.value.entries);
}

/** If a directory's mode keeps its own user from reading it, this changes the mode. */
function openWhateverItsMode(parent: Descriptor, name: Name): Posix<Descriptor> {
  const opened = openDirectoryAt(parent, name);
  if (opened.ok || opened.fault !== "EACCES") return opened;
  const readable = setModeAt(parent, name, OWNER_ALL);
  return readable.ok ? openDirectoryAt(parent, name) : readable;
}

function unlessGone(removed: Posix<undefined>): Posix<undefined> {
  return !removed.ok && removed.fault === "ENOENT" ? ok(undefined) : removed;
}
