/**
 * Opening the entries of a directory that is open, which no runtime library offers: no link is ever followed in the last
 * place. Every descriptor that is opened is close-on-exec. The calls block their thread; none of them waits for another
 * process.
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

/** `name` is where a name or a path was placed. */
export function openAt(
  directory: Descriptor,
  name: Pointer | undefined,
  flags: number,
  mode = 0,
): Posix<Descriptor> {
  if (name === undefined) return INVALID;
  return uninterrupted(() => libc()?.openat(directory, name, flags | O_CLOEXEC | O_NOCTTY, mode));
}

/** A directory by its path, as the kernel resolves it; a link in the last place is refused (`ELOOP`, `ENOTDIR`). */
export function openDirectoryPath(path: string): Posix<Descriptor> {
  return openAt(AT_FDCWD, place(encodeName(path)), O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
}

/** A directory's entry that is a directory itself and no link: else `ENOTDIR` or `ELOOP`. `.` opens it anew. */
export function openDirectoryAt(directory: Descriptor, name: Name): Posix<Descriptor> {
  return openAt(directory, placeName(name), O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
}

/**
 * An entry for reading; a link is refused (`ELOOP`), and nothing waits for a FIFO's writer. It may be of any other
 * kind: look at its status.
 */
export function openForReadingAt(directory: Descriptor, name: Name): Posix<Descriptor> {
  return openAt(directory, placeName(name), O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
}

/** The mode of a file that is being written: no one else's business yet. */
const WRITING_MODE = 0o600;

/** A new, empty file for writing, at most the owner's until `setMode`; `EEXIST` where anything of that name is there. */
export function createFileAt(directory: Descriptor, name: Name): Posix<Descriptor> {
  return createAt(directory, name, O_WRONLY | O_EXCL);
}

/**
 * An entry for appending, and for reading what it ends with; a new file, the owner's alone, where there is none. A link
 * is refused (`ELOOP`), and nothing waits for a FIFO's reader. It may be of any other kind: look at its status.
 */
export function openForAppendingAt(directory: Descriptor, name: Name): Posix<Descriptor> {
  return createAt(directory, name, O_RDWR | O_APPEND | O_NONBLOCK);
}

/** On macOS the mode that a file was created with is not the one that was asked for: it is set afterwards. */
function createAt(directory: Descriptor, name: Name, flags: number): Posix<Descriptor> {
  const file = openAt(directory, placeName(name), flags | O_CREAT | O_NOFOLLOW, WRITING_MODE);
  if (!MACOS || !file.ok) return file;
  const set = setMode(file.value, WRITING_MODE);
  if (set.ok) return file;
  close(file.value);
  return set;
}
