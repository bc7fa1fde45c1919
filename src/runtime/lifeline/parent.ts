/** The parent's half of a spawner lifeline: a pipe whose write end lives exactly as long as the parent wants the child. */

import { openPipe } from "../posix/pipe.ts";
import { close, type Posix } from "../posix.ts";
import { ok } from "../result.ts";

export interface ParentLifeline {
  /** For the child: to be handed on as one of its descriptors, then closed here. */
  readonly readEnd: number;
  /** Closes this process's copy of the read end; only the child's is left, so that it alone hears the end. */
  handedOver(): void;
  /** Closes both ends: once the child has been reaped, or was never started. */
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
  return ok({
    readEnd,
    handedOver: closeRead,
    close() {
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
