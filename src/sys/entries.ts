/**
 * The entries of an open directory, by their names: opened, made, moved and removed, which Bun cannot do.
 *
 * A name is the bytes of one directory entry, never decoded. Every call that takes a name refuses one that is empty or
 * holds a NUL or a slash, with `EINVAL`. So only the name `..` leaves the directory it was given. No call follows a link.
 * Every opened descriptor is close-on-exec. The calls block their thread, but none waits for another process.
 */

import type { Pointer } from "bun:ffi";
import { fault, ok } from "../result.ts";
import { setMode } from "./content.ts";
import { close, type Descriptor, O } from "./descriptors.ts";
import {
  callsOf,
  done,
  fixedMemory,
  LONG,
  MACOS,
  macosCallsOf,
  number,
  type Posix,
  SIZE,
  uninterrupted,
} from "./library.ts";

const opening = callsOf({ openat: { args: ["i32", "ptr", "i32", "u32"], returns: "i32" } });
const libc = callsOf({
  mkdirat: { args: ["i32", "ptr", "u32"], returns: "i32" },
  unlinkat: { args: ["i32", "ptr", "i32"], returns: "i32" },
  renameat: { args: ["i32", "ptr", "i32", "ptr"], returns: "i32" },
  symlinkat: { args: ["ptr", "i32", "ptr"], returns: "i32" },
  readlinkat: { args: ["i32", "ptr", "ptr", SIZE], returns: LONG },
  fchmodat: { args: ["i32", "ptr", "u32", "i32"], returns: "i32" },
});
const macos = macosCallsOf({ fclonefileat: { args: ["i32", "i32", "ptr", "u32"], returns: "i32" } });

/** One directory entry's name, as bytes. */
export type Name = Uint8Array;

const encoder = new TextEncoder();

/** The bytes of a name given as text. */
export function encodeName(text: string): Name {
  return encoder.encode(text);
}

const SLASH = 0x2f;
/** The longest path, and the longest target of a link, including the NUL. */
const PATH_BYTES = 4097;
const INVALID: Posix<never> = fault("EINVAL");
const TOO_LONG: Posix<never> = fault("ENAMETOOLONG");

/** Room for the paths of a call, which takes at most two. */
const first = fixedMemory(PATH_BYTES);
const second = fixedMemory(PATH_BYTES);

/** Makes a call that reads `bytes` and a NUL from memory. */
function placed<T>(bytes: Uint8Array, call: (at: Pointer) => Posix<T>, where = first): Posix<T> {
  if (bytes.length === 0 || bytes.length >= PATH_BYTES || bytes.includes(0)) return INVALID;
  where.memory.set(bytes);
  where.memory[bytes.length] = 0;
  return call(where.at);
}

/** The same for a name. */
export function named<T>(name: Name, call: (at: Pointer) => Posix<T>, where = first): Posix<T> {
  return name.includes(SLASH) ? INVALID : placed(name, call, where);
}

/** The directory that a path without a leading slash starts from: the process's own. */
const AT_FDCWD = MACOS ? -2 : -100;

/** A directory by its path, as the kernel resolves it. A link as the last part is refused (`ELOOP`, `ENOTDIR`). */
export function openDirectoryPath(path: string): Posix<Descriptor> {
  return placed(encodeName(path), (at) => open(AT_FDCWD, at, O.RDONLY | O.DIRECTORY | O.NOFOLLOW));
}

/** A directory's entry that is itself a directory and not a link, else `ENOTDIR` or `ELOOP`. */
export function openDirectoryAt(directory: Descriptor, name: Name): Posix<Descriptor> {
  return openAt(directory, name, O.RDONLY | O.DIRECTORY | O.NOFOLLOW);
}

const SELF = encodeName(".");

/** The same directory, opened anew. */
export function openAgain(directory: Descriptor): Posix<Descriptor> {
  return openDirectoryAt(directory, SELF);
}

/**
 * Opens an entry for reading. A link is refused (`ELOOP`), and a FIFO's writer is not waited for. The entry may be of
 * any other kind: check its status.
 */
export function openForReadingAt(directory: Descriptor, name: Name): Posix<Descriptor> {
  return openAt(directory, name, O.RDONLY | O.NOFOLLOW | O.NONBLOCK);
}

/** A new, empty file for writing. Only its owner has access until `setMode`. `EEXIST` if the name is taken. */
export function createFileAt(directory: Descriptor, name: Name): Posix<Descriptor> {
  return createAt(directory, name, O.WRONLY | O.EXCL);
}

/**
 * Opens an entry for appending, and for reading its end. If there is none, a file is made that only its owner can
 * access. A link is refused (`ELOOP`), and a FIFO's reader is not waited for. The entry may be of any other kind: check
 * its status.
 */
export function openForAppendingAt(directory: Descriptor, name: Name): Posix<Descriptor> {
  return createAt(directory, name, O.RDWR | O.APPEND | O.NONBLOCK);
}

/** The mode of a file that is being written: only its owner has access so far. */
const WRITING_MODE = 0o600;

/** On macOS a new file may not get the mode that was asked for, so it is set afterwards. */
function createAt(directory: Descriptor, name: Name, flags: number): Posix<Descriptor> {
  const file = openAt(directory, name, flags | O.CREAT | O.NOFOLLOW);
  if (!MACOS || !file.ok) return file;
  const set = setMode(file.value, WRITING_MODE);
  if (set.ok) return file;
  close(file.value);
  return set;
}

function openAt(directory: Descriptor, name: Name, flags: number): Posix<Descriptor> {
  return named(name, (at) => open(directory, at, flags));
}

/** The mode is for a file that this makes. */
function open(directory: Descriptor, at: Pointer, flags: number): Posix<Descriptor> {
  return uninterrupted(() => opening()?.openat(directory, at, flags | O.CLOEXEC | O.NOCTTY, WRITING_MODE));
}

/** Makes a directory with `mode` less the process's umask. */
export function makeDirectoryAt(directory: Descriptor, name: Name, mode: number): Posix<undefined> {
  return named(name, (at) => done(libc()?.mkdirat(directory, at, mode)));
}

/** Removes an entry that is not a directory. */
export function removeAt(directory: Descriptor, name: Name): Posix<undefined> {
  return named(name, (at) => done(libc()?.unlinkat(directory, at, 0)));
}

const AT_REMOVEDIR = MACOS ? 0x80 : 0x200;

/** Removes an empty directory. */
export function removeDirectoryAt(directory: Descriptor, name: Name): Posix<undefined> {
  return named(name, (at) => done(libc()?.unlinkat(directory, at, AT_REMOVEDIR)));
}

/** Moves an entry. An entry that already has the new name is replaced. */
export function renameAt(from: Descriptor, name: Name, to: Descriptor, newName: Name): Posix<undefined> {
  return named(name, (at) => named(newName, (newAt) => done(libc()?.renameat(from, at, to, newAt)), second));
}

/** Makes a symbolic link. `target` is any bytes without a NUL. */
export function makeLinkAt(target: Uint8Array, directory: Descriptor, name: Name): Posix<undefined> {
  if (target.length >= PATH_BYTES) return TOO_LONG;
  return named(name, (at) =>
    placed(target, (targetAt) => done(libc()?.symlinkat(targetAt, directory, at)), second),
  );
}

/** The target of a symbolic link, as it is written there. `EINVAL` if the entry is not a link. */
export function readLinkAt(directory: Descriptor, name: Name): Posix<Uint8Array> {
  const length = named(name, (at) => number(libc()?.readlinkat(directory, at, second.at, PATH_BYTES)));
  if (!length.ok) return length;
  return length.value >= PATH_BYTES ? TOO_LONG : ok(second.memory.slice(0, length.value));
}

/** macOS. Linux has no `fchmodat` that obeys it before 6.6. */
const AT_SYMLINK_NOFOLLOW = 0x20;

/**
 * Sets the mode of an entry that permissions may keep from being opened. On a link: its own mode, never its target's.
 */
export function setModeAt(directory: Descriptor, name: Name, mode: number): Posix<undefined> {
  if (MACOS) return named(name, (at) => done(libc()?.fchmodat(directory, at, mode, AT_SYMLINK_NOFOLLOW)));
  // `O_PATH` needs no permission on the entry. The path below then names exactly what the descriptor holds.
  const held = openAt(directory, name, O.PATH | O.NOFOLLOW);
  if (!held.ok) return held;
  const path = encodeName(`/proc/self/fd/${held.value}`);
  const set = placed(path, (at) => done(libc()?.fchmodat(AT_FDCWD, at, mode, 0)));
  close(held.value);
  return set;
}

/** Makes a file that shares the storage of `from` (`fclonefileat`). macOS on APFS; else an errno. */
export function cloneFileAt(from: Descriptor, directory: Descriptor, name: Name): Posix<undefined> {
  return named(name, (at) => done(macos()?.fclonefileat(from, directory, at, 0)));
}
