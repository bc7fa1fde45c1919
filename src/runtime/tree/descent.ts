/**
 * Goes down a tree of any depth, and up again, by descriptor.
 *
 * A path cannot safely name a deep entry: it can be too long, and any part of it may be swapped for a link meanwhile. A
 * descriptor for each level would use up all descriptors, so only the deepest levels are held open. A closed level is
 * found again as the parent of the one below, or by names from the top, and is used only if it is the very same
 * directory.
 */

import type { Result } from "../../result.ts";
import { close, type Descriptor } from "../../sys/descriptors.ts";
import { encodeName, type Name, openDirectoryAt } from "../../sys/entries.ts";
import { type Status, statusOf } from "../../sys/status.ts";
import { openDescendant } from "./held.ts";

/** How many levels are held open. Each descent needs this many descriptors. */
const OPEN_LEVELS = 48;

interface Level {
  readonly name: Name;
  readonly identity: string;
  descriptor: Descriptor | undefined;
}

/** Identifies a file whatever its name: its device and inode. */
export function identityOf({ device, inode }: Pick<Status, "device" | "inode">): string {
  return `${device}:${inode}`;
}

export type Descent = ReturnType<typeof createDescent>;

const PARENT = encodeName("..");

/** A descent from `top`. The caller closes the descent, and keeps `top`. */
export function createDescent(top: Descriptor) {
  const levels: Level[] = [];
  const names = () => levels.map(({ name }) => name);

  const openAnew = ({ identity }: Level, below: Descriptor | undefined): Descriptor | undefined => {
    const parent = below === undefined ? undefined : takeIf(openDirectoryAt(below, PARENT), identity);
    return parent ?? takeIf(openDescendant(top, names()), identity);
  };

  return {
    /** The names from the top to the present directory. */
    names,
    /** The directory that the descent is in. `undefined` if it was moved away meanwhile. */
    directory: () => (levels.length === 0 ? top : levels.at(-1)?.descriptor),
    /** Enters a directory that was opened in the present one. The descent closes it. */
    enter(name: Name, opened: Descriptor, status: Status): void {
      levels.push({ name, identity: identityOf(status), descriptor: opened });
      const far = levels[levels.length - 1 - OPEN_LEVELS];
      if (far?.descriptor !== undefined) {
        close(far.descriptor);
        far.descriptor = undefined;
      }
    },
    /** Goes up one level. Returns the name of the directory that it left; `undefined` at the top. */
    leave(): Name | undefined {
      const left = levels.pop();
      const present = levels.at(-1);
      if (present) present.descriptor ??= openAnew(present, left?.descriptor);
      if (left?.descriptor !== undefined) close(left.descriptor);
      return left?.name;
    },
    /** Closes what is still open, except the top. */
    close(): void {
      for (const { descriptor } of levels) if (descriptor !== undefined) close(descriptor);
      levels.length = 0;
    },
  };
}

function takeIf(opened: Result<Descriptor, unknown>, identity: string): Descriptor | undefined {
  if (!opened.ok) return undefined;
  const status = statusOf(opened.value);
  if (status.ok && identityOf(status.value) === identity) return opened.value;
  close(opened.value);
  return undefined;
}
