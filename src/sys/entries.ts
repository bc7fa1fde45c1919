/** Makes, moves and removes the entries of an open directory. No call follows a link. */

import { ok } from "../result.ts";
import { close, type Descriptor } from "./descriptors.ts";
import { done, number, type Posix } from "./errors.ts";
import { callsOf, LONG, macosCallsOf, SIZE } from "./library.ts";
import {
  AT_FDCWD,
  encodeName,
  INVALID,
  type Name,
  PATH_BYTES,
  place,
  placeName,
  second,
  TOO_LONG,
} from "./names.ts";
import { O_NOFOLLOW, O_PATH } from "./open-flags.ts";
import { openAt } from "./opening.ts";
import { MACOS } from "./platform.ts";

const libc = callsOf({
  mkdirat: { args: ["i32", "ptr", "u32"], returns: "i32" },
  unlinkat: { args: ["i32", "ptr", "i32"], returns: "i32" },
  renameat: { args: ["i32", "ptr", "i32", "ptr"], returns: "i32" },
  symlinkat: { args: ["ptr", "i32", "ptr"], returns: "i32" },
  readlinkat: { args: ["i32", "ptr", "ptr", SIZE], returns: LONG },
  fchmodat: { args: ["i32", "ptr", "u32", "i32"], returns: "i32" },
});
const macos = macosCallsOf({ fclonefileat: { args: ["i32", "i32", "ptr", "u32"], returns: "i32" } });

const AT_REMOVEDIR = MACOS ? 0x80 : 0x200;
/** macOS. Linux has no `fchmodat` that obeys it before 6.6. */
const AT_SYMLINK_NOFOLLOW = 0x20;

/** Makes a directory with `mode` less the process's umask. */
export function makeDirectoryAt(directory: Descriptor, name: Name, mode: number): Posix<void> {
  const at = placeName(name);
  return at === undefined ? INVALID : done(libc()?.mkdirat(directory, at, mode));
}

/** Removes an entry that is not a directory. */
export function removeAt(directory: Descriptor, name: Name): Posix<void> {
  const at = placeName(name);
  return at === undefined ? INVALID : done(libc()?.unlinkat(directory, at, 0));
}

/** Removes an empty directory. */
export function removeDirectoryAt(directory: Descriptor, name: Name): Posix<void> {
  const at = placeName(name);
  return at === undefined ? INVALID : done(libc()?.unlinkat(directory, at, AT_REMOVEDIR));
}

/** Moves an entry. An entry that already has the new name is replaced. */
export function renameAt(from: Descriptor, name: Name, to: Descriptor, newName: Name): Posix<void> {
  const at = placeName(name);
  const newAt = placeName(newName, second);
  if (at === undefined || newAt === undefined) return INVALID;
  return done(libc()?.renameat(from, at, to, newAt));
}

/** Makes a symbolic link. `target` is any bytes without a NUL. */
export function makeLinkAt(target: Uint8Array, directory: Descriptor, name: Name): Posix<void> {
  const at = placeName(name);
  if (target.length >= PATH_BYTES) return TOO_LONG;
  const targetAt = place(target, second);
  if (at === undefined || targetAt === undefined) return INVALID;
  return done(libc()?.symlinkat(targetAt, directory, at));
}

/** The target of a symbolic link, as it is written there. `EINVAL` if the entry is not a link. */
export function readLinkAt(directory: Descriptor, name: Name): Posix<Uint8Array> {
  const at = placeName(name);
  if (at === undefined) return INVALID;
  const length = number(libc()?.readlinkat(directory, at, second.at, PATH_BYTES));
  if (!length.ok) return length;
  return length.value >= PATH_BYTES ? TOO_LONG : ok(second.memory.slice(0, length.value));
}

/**
 * Sets the mode of an entry that permissions may keep from being opened. On a link: its own mode, never its target's.
 */
export function setModeAt(directory: Descriptor, name: Name, mode: number): Posix<void> {
  const at = placeName(name);
  if (at === undefined) return INVALID;
  if (MACOS) return done(libc()?.fchmodat(directory, at, mode, AT_SYMLINK_NOFOLLOW));
  // `O_PATH` needs no permission on the entry. The path below then names exactly what the descriptor holds.
  const held = openAt(directory, at, O_PATH | O_NOFOLLOW);
  if (!held.ok) return held;
  const path = place(encodeName(`/proc/self/fd/${held.value}`));
  const set = path === undefined ? INVALID : done(libc()?.fchmodat(AT_FDCWD, path, mode, 0));
  close(held.value);
  return set;
}

/** Makes a file that shares the storage of `from` (`fclonefileat`). macOS on APFS; else an errno. */
export function cloneFileAt(from: Descriptor, directory: Descriptor, name: Name): Posix<void> {
  const at = placeName(name);
  if (at === undefined) return INVALID;
  return done(macos()?.fclonefileat(from, directory, at, 0));
}
