/** Replaces whole files below a directory that is held by descriptor. */

import { randomBytes } from "node:crypto";
import { ok } from "../../result.ts";
import { write } from "../../sys/content.ts";
import { close, type Descriptor } from "../../sys/descriptors.ts";
import {
  createFileAt,
  encodeName,
  makeDirectoryAt,
  openDirectoryAt,
  removeAt,
  renameAt,
} from "../../sys/entries.ts";
import type { Posix } from "../../sys/library.ts";

export function writeAll(descriptor: Descriptor, bytes: Uint8Array): Posix<void> {
  let rest = bytes;
  while (rest.length > 0) {
    const count = write(descriptor, rest);
    if (!count.ok) return count;
    rest = rest.subarray(count.value);
  }
  return ok(undefined);
}

/**
 * Makes `name` hold what `fill` writes, in one step: a reader sees the old file or the new one. Whatever had that name
 * is replaced, even a link, which is not followed. A directory is `EISDIR`.
 */
export async function replaceFile(
  directory: Descriptor,
  name: string,
  fill: (descriptor: Descriptor) => Posix<void> | Promise<Posix<void>>,
): Promise<Posix<void>> {
  const staging = encodeName(`.${name}.${randomBytes(8).toString("hex")}`);
  const created = createFileAt(directory, staging);
  if (!created.ok) return created;
  let done: Posix<void> | undefined;
  try {
    const filled = await fill(created.value);
    done = filled.ok ? renameAt(directory, staging, directory, encodeName(name)) : filled;
    return done;
  } finally {
    close(created.value);
    if (!done?.ok) removeAt(directory, staging);
  }
}

/** A directory of that name. If there is none, it is made for its owner only. A link in its place is refused. */
export function ensureDirectoryAt(directory: Descriptor, name: string): Posix<Descriptor> {
  const made = makeDirectoryAt(directory, encodeName(name), 0o700);
  if (!made.ok && made.fault !== "EEXIST") return made;
  return openDirectoryAt(directory, encodeName(name));
}
