/** Directories held by a descriptor, which stays the same directory whatever happens to its name. */

import { ok } from "../../result.ts";
import { close, type Descriptor } from "../../sys/descriptors.ts";
import { encodeName, openDirectoryAt } from "../../sys/entries.ts";
import type { Posix } from "../../sys/library.ts";

/** A directory that is held open. It stays the same one, whatever happens to its name. */
export interface HeldDirectory {
  /** The absolute path when the directory was opened. Show it or pass it on, but never open it again. */
  readonly path: string;
  /** Open for as long as the directory is held, then -1, which is never a descriptor's number. */
  readonly descriptor: Descriptor;
  /** Closes it. A second call does nothing. */
  close(): void;
}

/**
 * After closing, the number may belong to another descriptor. So it is closed only once, and not returned afterwards.
 */
export function holdDirectory(path: string, descriptor: Descriptor): HeldDirectory {
  let held = true;
  return {
    path,
    get descriptor() {
      return held ? descriptor : -1;
    },
    close() {
      if (held) close(descriptor);
      held = false;
    },
  };
}

const SELF = encodeName(".");

/** The same directory, held a second time. */
export function holdAgain({ path, descriptor }: HeldDirectory): Posix<HeldDirectory> {
  const opened = openDirectoryAt(descriptor, SELF);
  return opened.ok ? ok(holdDirectory(path, opened.value)) : opened;
}
