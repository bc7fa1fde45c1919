/**
 * Calls on the entries of a directory that is open, which no runtime library offers: the ground of everything here that
 * must not follow a link. What an open file holds is `posix/content.ts`.
 *
 * A name is the bytes of one directory entry, never decoded: `encodeName` makes one of a text. A name that is empty,
 * holds a NUL or a slash is refused with `EINVAL`, so that no call leaves the directory it was given. Nothing throws
 * for an error of the system; what failed is its name, `ENOENT`. Every descriptor that is opened is close-on-exec.
 *
 * The calls block their thread; none of them waits for another process (a FIFO is opened without waiting).
 */

import { type Pointer, ptr } from "bun:ffi";
import { constants } from "node:os";
import { describeErrno } from "../os-error.ts";
import {
  type Descriptor,
  done,
  type Errno,
  interrupted,
  lastFault,
  libc,
  linux,
  macos,
  type Posix,
} from "./posix/libc.ts";
import {
  AT_EMPTY_PATH,
  AT_FDCWD,
  AT_REMOVEDIR,
  AT_SYMLINK_NOFOLLOW,
  MACOS,
  O_APPEND,
  O_CLOEXEC,
  O_CREAT,
  O_DIRECTORY,
  O_EXCL,
  O_NOCTTY,
  O_NOFOLLOW,
  O_NONBLOCK,
  O_PATH,
  O_RDONLY,
  O_RDWR,
  O_WRONLY,
  readStatus,
  STATUS_BYTES,
  STATX_BASIC_STATS,
  type Status,
  type Timestamp,
  UTIME_OMIT,
} from "./posix/platform.ts";
import { fault, ok } from "./result.ts";

export type { Descriptor, Errno, Posix } from "./posix/libc.ts";
export type { Kind, Status, Timestamp } from "./posix/platform.ts";

/** One directory entry's name, as bytes. */
export type Name = Uint8Array;

const encoder = new TextEncoder();
const INVALID: Posix<never> = fault("EINVAL");
const TOO_LONG: Posix<never> = fault("ENAMETOOLONG");

/** A text as the bytes of a name. */
export function encodeName(text: string): Name {
  return encoder.encode(text);
}

/** An error in the words an operator knows: `Permission denied (os error 13)`. */
export function describeError(errno: Errno): string {
  return errno === "EUNKNOWN" ? "An unknown error" : describeErrno(errno, constants.errno[errno]);
}

/** Longest path, and longest target of a link, with the NUL after it. */
const PATH_BYTES = 4097;

/** Memory that the calls are handed: at one address, for as long as the array itself is referred to. */
function fixedMemory(bytes: number) {
  const memory = new Uint8Array(new ArrayBuffer(bytes));
  return { memory, at: ptr(memory) };
}

const first = fixedMemory(PATH_BYTES);
const second = fixedMemory(PATH_BYTES);
const status = fixedMemory(STATUS_BYTES);
const statusView = new DataView(status.memory.buffer);
const times = fixedMemory(32);
const timesView = new DataView(times.memory.buffer);
const empty = fixedMemory(1);

const SLASH = 0x2f;

/** Puts `bytes` and a NUL where a call will read them; `undefined` where they would be cut short. */
function place(bytes: Uint8Array, where: typeof first): Pointer | undefined {
  if (bytes.length === 0 || bytes.length >= PATH_BYTES || bytes.includes(0)) return undefined;
  where.memory.set(bytes);
  where.memory[bytes.length] = 0;
  return where.at;
}

function placeName(name: Name, where = first): Pointer | undefined {
  return name.includes(SLASH) ? undefined : place(name, where);
}

function opened(
  directory: Descriptor,
  name: Pointer | undefined,
  flags: number,
  mode = 0,
): Posix<Descriptor> {
  if (name === undefined) return INVALID;
  for (;;) {
    const descriptor = libc.openat(directory, name, flags | O_CLOEXEC | O_NOCTTY, mode);
    if (descriptor >= 0) return ok(descriptor);
    if (!interrupted()) return lastFault();
  }
}

/** A directory by its path, as the kernel resolves it; a link in the last place is refused (`ELOOP`, `ENOTDIR`). */
export function openDirectoryPath(path: string): Posix<Descriptor> {
  return opened(AT_FDCWD, place(encoder.encode(path), first), O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
}

/** A directory's entry that is a directory itself and no link: else `ENOTDIR` or `ELOOP`. `.` opens it anew. */
export function openDirectoryAt(directory: Descriptor, name: Name): Posix<Descriptor> {
  return opened(directory, placeName(name), O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
}

/**
 * An entry for reading; a link is refused (`ELOOP`), and nothing waits for a FIFO's writer. It may be of any other
 * kind: look at its status.
 */
export function openForReadingAt(directory: Descriptor, name: Name): Posix<Descriptor> {
  return opened(directory, placeName(name), O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
}

/** The mode of a file that is being written: no one else's business yet. */
const WRITING_MODE = 0o600;

/** A new, empty file for writing, at most the owner's until `setMode`; `EEXIST` where anything of that name is there. */
export function createFileAt(directory: Descriptor, name: Name): Posix<Descriptor> {
  const flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW;
  return withWritingMode(opened(directory, placeName(name), flags, WRITING_MODE));
}

/** What may have been created: on macOS the mode that it was created with is not the one that was asked for. */
function withWritingMode(file: Posix<Descriptor>): Posix<Descriptor> {
  if (!MACOS || !file.ok) return file;
  const set = setMode(file.value, WRITING_MODE);
  if (set.ok) return file;
  close(file.value);
  return set;
}

/**
 * An entry for appending, and for reading what it ends with; a new file, the owner's alone, where there is none. A link
 * is refused (`ELOOP`), and nothing waits for a FIFO's reader. It may be of any other kind: look at its status.
 */
export function openForAppendingAt(directory: Descriptor, name: Name): Posix<Descriptor> {
  const flags = O_RDWR | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK;
  return withWritingMode(opened(directory, placeName(name), flags, WRITING_MODE));
}

/** A new directory; `mode` less the process's umask. */
export function makeDirectoryAt(directory: Descriptor, name: Name, mode: number): Posix<void> {
  const at = placeName(name);
  return at === undefined ? INVALID : done(libc.mkdirat(directory, at, mode));
}

/** Takes away an entry that is no directory. */
export function removeAt(directory: Descriptor, name: Name): Posix<void> {
  const at = placeName(name);
  return at === undefined ? INVALID : done(libc.unlinkat(directory, at, 0));
}

/** Takes away an empty directory. */
export function removeDirectoryAt(directory: Descriptor, name: Name): Posix<void> {
  const at = placeName(name);
  return at === undefined ? INVALID : done(libc.unlinkat(directory, at, AT_REMOVEDIR));
}

/** Moves an entry, over one of the new name where there is one. */
export function renameAt(from: Descriptor, name: Name, to: Descriptor, newName: Name): Posix<void> {
  const at = placeName(name);
  const newAt = placeName(newName, second);
  if (at === undefined || newAt === undefined) return INVALID;
  return done(libc.renameat(from, at, to, newAt));
}

/** A new symbolic link; `target` is any bytes without a NUL. */
export function makeLinkAt(target: Uint8Array, directory: Descriptor, name: Name): Posix<void> {
  const at = placeName(name);
  if (target.length >= PATH_BYTES) return TOO_LONG;
  const targetAt = place(target, second);
  if (at === undefined || targetAt === undefined) return INVALID;
  return done(libc.symlinkat(targetAt, directory, at));
}

/** Where a symbolic link points, as it is written there. `EINVAL` where the entry is no link. */
export function readLinkAt(directory: Descriptor, name: Name): Posix<Uint8Array> {
  const at = placeName(name);
  if (at === undefined) return INVALID;
  const length = libc.readlinkat(directory, at, second.at, PATH_BYTES);
  if (length < 0) return lastFault();
  return Number(length) >= PATH_BYTES ? TOO_LONG : ok(second.memory.slice(0, Number(length)));
}

/** The status of what a descriptor holds. */
export function statusOf(descriptor: Descriptor): Posix<Status> {
  const failed = linux
    ? linux.statx(descriptor, empty.at, AT_EMPTY_PATH, STATX_BASIC_STATS, status.at)
    : macos
      ? macos.fstat(descriptor, status.at)
      : -1;
  return failed < 0 ? lastFault() : ok(readStatus(statusView));
}

/** The status of an entry itself, of a link where it is one. */
export function statusAt(directory: Descriptor, name: Name): Posix<Status> {
  const at = placeName(name);
  if (at === undefined) return INVALID;
  const failed = linux
    ? linux.statx(directory, at, AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS, status.at)
    : macos
      ? macos.fstatat(directory, at, status.at, AT_SYMLINK_NOFOLLOW)
      : -1;
  return failed < 0 ? lastFault() : ok(readStatus(statusView));
}

export function setMode(descriptor: Descriptor, mode: number): Posix<void> {
  return done(libc.fchmod(descriptor, mode));
}

/** Sets the mode of an entry that may not be opened for want of permission; a link's own, never its target's. */
export function setModeAt(directory: Descriptor, name: Name, mode: number): Posix<void> {
  const at = placeName(name);
  if (at === undefined) return INVALID;
  if (MACOS) return done(libc.fchmodat(directory, at, mode, AT_SYMLINK_NOFOLLOW));
  // Linux has no such call before 6.6: the entry is held, and named by what holds it.
  const held = opened(directory, at, O_PATH | O_NOFOLLOW);
  if (!held.ok) return held;
  const path = place(encoder.encode(`/proc/self/fd/${held.value}`), first);
  const set = path === undefined ? INVALID : done(libc.fchmodat(AT_FDCWD, path, mode, 0));
  close(held.value);
  return set;
}

/** Sets the time of the last modification and leaves that of the last access. */
export function setModified(descriptor: Descriptor, { seconds, nanoseconds }: Timestamp): Posix<void> {
  timesView.setBigInt64(8, BigInt(UTIME_OMIT), true);
  timesView.setBigInt64(16, BigInt(seconds), true);
  timesView.setBigInt64(24, BigInt(nanoseconds), true);
  return done(libc.futimens(descriptor, times.at));
}

/** Closes a descriptor; whatever it returns, the number is free. */
export function close(descriptor: Descriptor): void {
  libc.close(descriptor);
}

/** A new file that shares the storage of `from` (`fclonefileat`). macOS on APFS; else an errno. */
export function cloneFileAt(from: Descriptor, directory: Descriptor, name: Name): Posix<void> {
  const at = placeName(name);
  if (at === undefined) return INVALID;
  return macos ? done(macos.fclonefileat(from, directory, at, 0)) : fault("ENOSYS");
}
