/** What the file system says of a path, without an object for each answer. */

import { errno, linuxCallsOf } from "./library.ts";

export const ENOENT = 2;

const linux = linuxCallsOf({ statx: { args: ["i32", "ptr", "i32", "u32", "ptr"], returns: "i32" } });

const AT_FDCWD = -100;
const STATX_BASIC_STATS = 0x7ff;

/**
 * Linux: `statx` into a buffer of 256 bytes, links followed; it allocates nothing. 0, or the error's number; `undefined`
 * where there is no such call.
 *
 * @param path NUL-terminated
 */
export function statInto(path: Uint8Array, into: Uint8Array): number | undefined {
  const calls = linux();
  if (!calls) return undefined;
  return calls.statx(AT_FDCWD, path, 0, STATX_BASIC_STATS, into) === 0 ? 0 : errno();
}
