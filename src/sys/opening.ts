/**
 * Opens the entries of an open directory, which Bun cannot do. A link as the last part is never followed. Every opened
 * descriptor is close-on-exec. The calls block their thread, but none waits for another process.
 */

import type { Pointer } from "bun:ffi";
import { setMode } from "./attributes.ts";
import { close, type Descriptor } from "./descriptors.ts";
import { type Posix, uninterrupted } from "./errors.ts";
import { callsOf } from "./library.ts";
import { AT_FDCWD, encodeName, INVALID, type Name, place, placeName } from "./names.ts";
import {
  O_APPEND,
  O_CLOEXEC,
  O_CREAT,
  O_DIRECTORY,
  O_EXCL,
  O_NOCTTY,
  O_NOFOLLOW,
  O_NONBLOCK,
  O_RDONLY,
  O_RDWR,
  O_WRONLY,
} from "./open-flags.ts";
import { MACOS } from "./platform.ts";

const libc = callsOf({ openat: { args: ["i32", "ptr", "i32", "u32"], returns: "i32" } });

/** `name` says where a name or a path was placed in memory. */
export function openAt(
  directory: Descriptor,
  name: Pointer | undefined,
  flags: number,
  mode = 0,
): Posix<Descriptor> {
  if (name === undefined) return INVALID;
  return uninterrupted(() => libc()?.openat(directory, name, flags | O_CLOEXEC | O_NOCTTY, mode));
}

/** A directory by its path, as the kernel resolves it. A link as the last part is refused (`ELOOP`, `ENOTDIR`). */
export function openDirectoryPath(path: string): Posix<Descriptor> {
  return openAt(AT_FDCWD, place(encodeName(path)), O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
}

/**
 * A directory's entry that is itself a directory and not a link, else `ENOTDIR` or `ELOOP`. `.` opens the directory
 * anew.
 */
export function openDirectoryAt(directory: Descriptor, name: Name): Posix<Descriptor> {
  return openAt(directory, placeName(name), O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
}

/**
 * Opens an entry for reading. A link is refused (`ELOOP`), and a FIFO's writer is not waited for. The entry may be of
 * any other kind: check its status.
 */
export function openForReadingAt(directory: Descriptor, name: Name): Posix<Descriptor> {
  return openAt(directory, placeName(name), O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
}

/** The mode of a file that is being written: only its owner has access so far. */
const WRITING_MODE = 0o600;

/** A new, empty file for writing. Only its owner has access until `setMode`. `EEXIST` if the name is taken. */
export function createFileAt(directory: Descriptor, name: Name): Posix<Descriptor> {
  return createAt(directory, name, O_WRONLY | O_EXCL);
}

/**
 * Opens an entry for appending, and for reading its end. If there is none, a file is made that only its owner can
 * access. A link is refused (`ELOOP`), and a FIFO's reader is not waited for. The entry may be of any other kind: check
 * its status.
 */
export function openForAppendingAt(directory: Descriptor, name: Name): Posix<Descriptor> {
  return createAt(directory, name, O_RDWR | O_APPEND | O_NONBLOCK);
}

/** On macOS a new file may not get the mode that was asked for, so it is set afterwards. */
function createAt(directory: Descriptor, name: Name, flags: number): Posix<Descriptor> {
  const file = openAt(directory, placeName(name), flags | O_CREAT | O_NOFOLLOW, WRITING_MODE);
  if (!MACOS || !file.ok) return file;
  const set = setMode(file.value, WRITING_MODE);
  if (set.ok) return file;
  close(file.value);
  return set;
}
