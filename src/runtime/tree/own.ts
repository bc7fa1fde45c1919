/** Directories of this user alone, made and opened step by step beneath one that is held, no link followed. */

import {
  close,
  type Descriptor,
  describeError,
  type Errno,
  encodeName,
  makeDirectoryAt,
  type Name,
  openDirectoryAt,
  setMode,
  statusOf,
} from "../posix.ts";
import { fault, ok, type Result } from "../result.ts";
import { type HeldDirectory, holdDirectory } from "./held.ts";

export const OWNER_ONLY = 0o700;
const OTHERS = 0o077;

/** What a step does where the entry is there already: `open` it, or `refuse` it. */
export type Existing = "open" | "refuse";

/**
 * The directory `parent`/`name`, made where it is missing, and closed to everyone but its owner in any case.
 *
 * The fault is one sentence that names the entry: it is a link or a file, or the error of the system.
 */
export function ownDirectory(
  parent: HeldDirectory,
  name: string,
  existing: Existing,
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

/** Of a path that is met on the way to one's own: which entry is in the way, and what to do about it. */
function describeUnopened(path: string, errno: Errno): string {
  if (errno === "ELOOP" || errno === "ENOTDIR") {
    return `${path} is a symbolic link or a file where a directory of the runtime belongs; move it away`;
  }
  return `${path} could not be opened: ${describeError(errno)}`;
}

/** A directory that its user made with a generous umask, or by another program, holds what is theirs alone by now. */
function closeToOthers(directory: Descriptor): Result<void, Errno> {
  const status = statusOf(directory);
  if (!status.ok) return status;
  const mode = status.value.mode;
  const closed = (mode & OTHERS) === 0 && (mode & OWNER_ONLY) === OWNER_ONLY;
  return closed ? ok(undefined) : setMode(directory, OWNER_ONLY);
}

/** `ownDirectory` for each of `names` in turn; returns the last one. `existing` applies to the last one only. */
export function ownDirectories(
  parent: HeldDirectory,
  names: readonly string[],
  existing: Existing,
): Result<HeldDirectory, string> {
  let at = parent;
  for (const [index, name] of names.entries()) {
    const next = ownDirectory(at, name, index === names.length - 1 ? existing : "open");
    if (at !== parent) at.close();
    if (!next.ok) return next;
    at = next.value;
  }
  return ok(at);
}

/** Which of the names could not be opened, counted from 0. */
export interface FailedStep {
  readonly step: number;
  readonly errno: Errno;
}

/** A directory that is there already, reached step by step; the parent itself where there are no names. */
export function openDescendant(parent: Descriptor, names: readonly Name[]): Result<Descriptor, FailedStep> {
  let at = parent;
  for (const [step, name] of names.entries()) {
    const next = openDirectoryAt(at, name);
    if (at !== parent) close(at);
    if (!next.ok) return fault({ step, errno: next.fault });
    at = next.value;
  }
  return ok(at);
}
