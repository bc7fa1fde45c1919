/**
 * Directories held by a descriptor, and those below them: opened, or made for this user alone, step by step. No link is
 * followed.
 */

import { fault, ok, type Result } from "../../result.ts";
import { setMode } from "../../sys/content.ts";
import { close, type Descriptor } from "../../sys/descriptors.ts";
import { encodeName, makeDirectoryAt, type Name, openDirectoryAt } from "../../sys/entries.ts";
import { describeError, type Errno, type Posix } from "../../sys/library.ts";
import { statusOf } from "../../sys/status.ts";

/** A directory that is held open. It stays the same one, whatever happens to its name. */
export interface HeldDirectory {
  /** The absolute path when the directory was opened. Show it or pass it on, but never open it again. */
  readonly path: string;
  /** Open for as long as the directory is held, then -1, which is never a descriptor's number. */
  readonly descriptor: Descriptor;
  /** Closes it. A second call does nothing. */
  close(): void;
}

/**
 * After closing, the number may belong to another descriptor. So it is closed only once, and not returned afterwards.
 */
export function holdDirectory(path: string, descriptor: Descriptor): HeldDirectory {
  let held = true;
  return {
    path,
    get descriptor() {
      return held ? descriptor : -1;
    },
    close() {
      if (held) close(descriptor);
      held = false;
    },
  };
}

/**
 * A directory that already exists, reached step by step. If there are no names: the parent itself. The fault says which
 * of the names could not be opened, counted from 0.
 */
export function openDescendant(
  parent: Descriptor,
  names: readonly Name[],
): Result<Descriptor, { readonly step: number; readonly errno: Errno }> {
  let at = parent;
  for (const [step, name] of names.entries()) {
    const next = openDirectoryAt(at, name);
    if (at !== parent) close(at);
    if (!next.ok) return fault({ step, errno: next.fault });
    at = next.value;
  }
  return ok(at);
}

const OWNER_ONLY = 0o700;
const OTHERS = 0o077;

/** A directory of that name. If there is none, it is made for its owner only. A link in its place is refused. */
export function ensureDirectoryAt(directory: Descriptor, name: string): Posix<Descriptor> {
  const made = makeDirectoryAt(directory, encodeName(name), OWNER_ONLY);
  if (!made.ok && made.fault !== "EEXIST") return made;
  return openDirectoryAt(directory, encodeName(name));
}

/**
 * The directory `parent`/`name`. It is made if it is missing, and only its owner has access in either case.
 * If it exists, it is opened or refused.
 *
 * The fault is one sentence that names the entry: it is a link or a file, or the system's error.
 */
export function ownDirectory(
  parent: HeldDirectory,
  name: string,
  existing: "open" | "refuse",
): Result<HeldDirectory, string> {
  const path = `${parent.path === "/" ? "" : parent.path}/${name}`;
  const bytes = encodeName(name);
  const made = makeDirectoryAt(parent.descriptor, bytes, OWNER_ONLY);
  const there = !made.ok && made.fault === "EEXIST" && existing === "open";
  if (!made.ok && !there) return fault(`${path} could not be made: ${describeError(made.fault)}`);
  const opened = openDirectoryAt(parent.descriptor, bytes);
  if (!opened.ok) return fault(describeUnopened(path, opened.fault));
  const closed = closeToOthers(opened.value);
  if (closed.ok) return ok(holdDirectory(path, opened.value));
  close(opened.value);
  return fault(`${path} could not be closed to other users: ${describeError(closed.fault)}; make it yours`);
}

/** Says which entry on the path is in the way, and what to do about it. */
function describeUnopened(path: string, errno: Errno): string {
  if (errno === "ELOOP" || errno === "ENOTDIR") {
    return `${path} is a symbolic link or a file where a directory of the runtime belongs; move it away`;
  }
  return `${path} could not be opened: ${describeError(errno)}`;
}

/** The directory may have been made with a permissive umask, or by another program. Now it holds private data. */
function closeToOthers(directory: Descriptor): Posix<undefined> {
  const status = statusOf(directory);
  if (!status.ok) return status;
  const mode = status.value.mode;
  const closed = (mode & OTHERS) === 0 && (mode & OWNER_ONLY) === OWNER_ONLY;
  return closed ? ok(undefined) : setMode(directory, OWNER_ONLY);
}

/** `ownDirectory` for each of `names` in turn. Returns the last one, which must not exist yet. */
export function ownDirectories(
  parent: HeldDirectory,
  names: readonly string[],
): Result<HeldDirectory, string> {
  let at = parent;
  for (const [index, name] of names.entries()) {
    const next = ownDirectory(at, name, index === names.length - 1 ? "refuse" : "open");
    if (at !== parent) at.close();
    if (!next.ok) return next;
    at = next.value;
  }
  return ok(at);
}
