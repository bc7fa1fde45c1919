/** The parent's half of a spawner lifeline: a pipe whose write end stays open for as long as the child should live. */

import { ok } from "../../result.ts";
import { close, openPipe } from "../../sys/descriptors.ts";
import type { Posix } from "../../sys/library.ts";

export interface ParentLifeline {
  /** For the child: hand it on as one of its descriptors. */
  readonly readEnd: number;
  /**
   * Call it when the child has the read end. It closes this process's copy, so that only the child sees the end of
   * file. The write end is closed once the child is gone. A child that nothing can end keeps its lifeline, so that it
   * ends with this process.
   */
  handedOver(gone: Promise<void>): void;
  /** Closes both ends, unless a child has the lifeline. */
  close(): void;
}

/**
 * Makes a lifeline for one child. Nothing is ever written to it. However this process ends, the kernel closes the write
 * end, and the child reads end of file.
 */
export function openLifeline(): Posix<ParentLifeline> {
  const pipe = openPipe();
  if (!pipe.ok) return pipe;
  const { readEnd, writeEnd } = pipe.value;
  const closeRead = once(() => close(readEnd));
  const closeWrite = once(() => close(writeEnd));
  let handed = false;
  return ok({
    readEnd,
    handedOver(gone) {
      handed = true;
      closeRead();
      void gone.then(closeWrite);
    },
    close() {
      if (handed) return;
      closeRead();
      closeWrite();
    },
  });
}

/** Each number is closed once only: by the second time it could belong to another descriptor. */
function once(act: () => void): () => void {
  let done = false;
  return () => {
    if (!done) act();
    done = true;
  };
}
