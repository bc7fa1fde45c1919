/** The parent's half of a spawner lifeline: a pipe whose write end lives exactly as long as the parent wants the child. */

import { openPipe } from "../posix/pipe.ts";
import { close, type Posix } from "../posix.ts";
import { ok } from "../result.ts";

export interface ParentLifeline {
  /** For the child: to be handed on as one of its descriptors. */
  readonly readEnd: number;
  /**
   * The child has it: this process's copy of the read end is closed, so that the child alone hears the end. The write end
   * is closed once the child is gone; one that nothing ends keeps its lifeline, so that it ends with this process.
   */
  handedOver(gone: Promise<void>): void;
  /** Closes both ends, unless a child has it. */
  close(): void;
}

/**
 * A lifeline for one child. Its write end is never written to: the kernel closes it when this process ends by any
 * means, and the child reads end of file.
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

/** A number closed twice may by then be another descriptor. */
function once(act: () => void): () => void {
  let done = false;
  return () => {
    if (!done) act();
    done = true;
  };
}
