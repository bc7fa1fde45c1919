/**
 * The directories of a session: its records, which stay; its runtime directory, which is removed when it ends; and one
 * work folder for each child.
 *
 * `HOME` and the work folder's root are resolved first, because a symbolic link there is the user's choice. Below them
 * no link is followed, every directory is accessible to the user alone (0700), and all are held by descriptor.
 */

import { realpathSync } from "node:fs";
import { isAbsolute, join } from "node:path";
import { describeOsError } from "../os-error.ts";
import { absolutePath } from "../paths.ts";
import { fault, ok, type Result } from "../result.ts";
import { inSlices } from "../slices.ts";
import { close } from "../sys/descriptors.ts";
import { encodeName, openDirectoryAt, openDirectoryPath, removeDirectoryAt } from "../sys/entries.ts";
import { describeError, type Errno } from "../sys/library.ts";
import {
  type HeldDirectory,
  holdDirectory,
  openDescendant,
  ownDirectories,
  ownDirectory,
} from "./tree/held.ts";
import { NO_DIRECTORY, removeTree } from "./tree/remove.ts";
import { directorySuffix, type IdSource } from "./wire.ts";

const MURMUR = ".murmur";

interface SessionDirectoriesOptions {
  /** The value of `HOME`. */
  readonly home: string | undefined;
  /** The session's work folder, as it was given. If it is relative, it is relative to the current directory. */
  readonly workdir: string;
  readonly sessionId: string;
  readonly randomBytes?: IdSource["randomBytes"];
}

/** A child's work folder. */
export interface ChildDirectory extends HeldDirectory {
  /** Removes the folder and everything in it. Only for a child that no process was ever started for. */
  remove(): Promise<Result<void, string>>;
}

/** The directories of a session, each held open until `close`. */
export interface SessionDirectories {
  /** `HOME`, resolved. */
  readonly home: HeldDirectory;
  /** The work folder, resolved. */
  readonly workdir: HeldDirectory;
  /** The same folder's absolute path as it was given. It may lead through links. */
  readonly givenWorkdir: string;
  /** `~/.murmur/records/<work folder>/<session id>`: what is kept. */
  readonly records: HeldDirectory;
  /** `~/.murmur/sessions/<session id>/runtime`: `MURMUR_RUNTIME_DIR`. */
  readonly runtime: HeldDirectory;
  /** Makes `<records>/children/<name>-<16 hex>`. `name` is a capsule's bare name. */
  createChild(name: string): Result<ChildDirectory, string>;
  /** Removes the runtime directory. Call it when the session is over. */
  removeRuntime(): Promise<Result<void, string>>;
  /** Closes all of them. */
  close(): void;
}

/**
 * Makes the directories of a session. Its records directory must not exist yet. The fault is one sentence that names
 * the path in the way, and what to do. After a fault or an exception nothing is held.
 */
export function createSessionDirectories(
  options: SessionDirectoriesOptions,
): Result<SessionDirectories, string> {
  const opened: HeldDirectory[] = [];
  let made: Result<SessionDirectories, string> | undefined;
  try {
    made = makeAll(options, (directory) => {
      if (directory.ok) opened.push(directory.value);
      return directory;
    });
    return made;
  } finally {
    if (!made?.ok) for (const directory of opened) directory.close();
  }
}

type Hold = (directory: Result<HeldDirectory, string>) => Result<HeldDirectory, string>;

function makeAll(options: SessionDirectoriesOptions, hold: Hold): Result<SessionDirectories, string> {
  const { sessionId } = options;
  const home = hold(openHome(options.home));
  if (!home.ok) return home;
  // A relative path is made absolute only here: the current directory may be another one later.
  const givenWorkdir = absolutePath(options.workdir);
  const workdir = hold(openResolved(givenWorkdir, "the work folder"));
  if (!workdir.ok) return workdir;
  const murmur = hold(openMurmur(home.value));
  if (!murmur.ok) return murmur;
  const below = workdir.value.path.split("/").filter((part) => part !== "");
  const records = hold(ownDirectories(murmur.value, ["records", ...below, sessionId]));
  if (!records.ok) return records;
  const runtime = hold(ownDirectories(murmur.value, ["sessions", sessionId, "runtime"]));
  if (!runtime.ok) return runtime;
  return ok({
    home: home.value,
    workdir: workdir.value,
    givenWorkdir,
    records: records.value,
    runtime: runtime.value,
    createChild: (name) => createChild(records.value, `${name}-${directorySuffix(options.randomBytes)}`),
    removeRuntime: () => removeRuntime(murmur.value, sessionId),
    close() {
      for (const directory of [home, workdir, murmur, records, runtime]) directory.value.close();
    },
  });
}

/** `HOME`, resolved and held. The fault says what `HOME` must be. */
export function openHome(home: string | undefined): Result<HeldDirectory, string> {
  if (home === undefined || home.trim() === "")
    return fault("HOME is not set; set it to this user's home directory");
  if (!isAbsolute(home)) return fault("HOME is not an absolute path; set it to this user's home directory");
  return openResolved(home, "HOME");
}

function openResolved(path: string, what: string): Result<HeldDirectory, string> {
  // Bytes that are not UTF-8 came as U+FFFD, and would name another directory.
  const notText = fault(`${what}, ${path}, is not valid UTF-8`);
  if (path.includes("\uFFFD")) return notText;
  try {
    // The other one removes `..` by text before it looks at any link.
    const resolved = realpathSync.native(path);
    if (resolved.includes("\uFFFD")) return notText;
    const opened = openDirectoryPath(resolved);
    if (opened.ok) return ok(holdDirectory(resolved, opened.value));
    return fault(`${what}, ${path}, could not be opened: ${describeError(opened.fault)}`);
  } catch (error) {
    return fault(`${what}, ${path}, could not be resolved: ${describeOsError(error)}`);
  }
}

/** `~/.murmur` is not used by this library alone. It is made for its owner; if it exists, it is left as it is. */
function openMurmur(home: HeldDirectory): Result<HeldDirectory, string> {
  const opened = openDirectoryAt(home.descriptor, encodeName(MURMUR));
  if (opened.ok) return ok(holdDirectory(join(home.path, MURMUR), opened.value));
  return ownDirectory(home, MURMUR, "open");
}

function createChild(records: HeldDirectory, name: string): Result<ChildDirectory, string> {
  const child = ownDirectories(records, ["children", name]);
  if (!child.ok) return child;
  return ok(
    Object.assign(child.value, {
      remove() {
        child.value.close();
        return removeBeneath(records, ["children"], name);
      },
    }),
  );
}

async function removeRuntime(murmur: HeldDirectory, sessionId: string): Promise<Result<void, string>> {
  const removed = await removeBeneath(murmur, ["sessions", sessionId], "runtime");
  if (!removed.ok) return removed;
  const sessions = openDirectoryAt(murmur.descriptor, encodeName("sessions"));
  if (!sessions.ok) return unlessGone(join(murmur.path, "sessions"), sessions.fault);
  try {
    // Anything else in there does not belong to this library, so the directory is kept.
    removeDirectoryAt(sessions.value, encodeName(sessionId));
    return ok(undefined);
  } finally {
    close(sessions.value);
  }
}

/** Removes the entry `name` of a directory below `from`. The work is done in slices. */
async function removeBeneath(
  from: HeldDirectory,
  names: readonly string[],
  name: string,
): Promise<Result<void, string>> {
  const parent = openDescendant(from.descriptor, names.map(encodeName));
  if (!parent.ok) return unlessGone(join(from.path, ...names), parent.fault.errno);
  try {
    const removed = await inSlices(removeTree(parent.value, encodeName(name)));
    if (removed.ok) return removed;
    return fault(`${join(from.path, ...names, name)} could not be removed: ${describeError(removed.fault)}`);
  } finally {
    close(parent.value);
  }
}

/** If a directory is gone, nothing is left to remove in it. Any other error, such as no free descriptor, is a fault. */
function unlessGone(path: string, errno: Errno): Result<void, string> {
  if (NO_DIRECTORY.includes(errno)) return ok(undefined);
  return fault(`${path} could not be opened to remove what is in it: ${describeError(errno)}`);
}
