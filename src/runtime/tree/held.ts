/** Directories that are held: by a descriptor, which stays the same directory whatever happens to its name. */

import { ok } from "../../result.ts";
import { close, type Descriptor } from "../../sys/descriptors.ts";
import type { Posix } from "../../sys/errors.ts";
import { encodeName } from "../../sys/names.ts";
import { openDirectoryAt } from "../../sys/opening.ts";

/** A directory that is held open: it stays the same one, whatever happens to its name. */
export interface HeldDirectory {
  /** Absolute, as it was when the directory was opened; to be shown and handed on, never to be opened again. */
  readonly path: string;
  /** Open for as long as the directory is held; then -1, which is no descriptor's number. */
  readonly descriptor: Descriptor;
  /** Lets it go; a second call does nothing. */
  close(): void;
}

/** A number that was closed may by then be another's: it is closed once, and not given out afterwards. */
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

/** The same directory, held once more. */
export function holdAgain({ path, descriptor }: HeldDirectory): Posix<HeldDirectory> {
  const opened = openDirectoryAt(descriptor, SELF);
  return opened.ok ? ok(holdDirectory(path, opened.value)) : opened;
}
