/** Directories that are held: by a descriptor, which stays the same directory whatever happens to its name. */

import { close, type Descriptor, encodeName, openDirectoryAt, type Posix } from "../posix.ts";
import { ok } from "../result.ts";

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
