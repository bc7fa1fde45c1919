/** Writes the one line of a child's standard input. */

import { write } from "../../sys/content.ts";
import { close, type Descriptor, writable } from "../../sys/descriptors.ts";

/** How many bytes a writable pipe takes without waiting, on every platform (`PIPE_BUF`). */
const PORTION_BYTES = 512;
const PAUSE_MS = 20;

/**
 * Writes `text` to the pipe and closes it. This is usually done at once, because a new pipe has room for more than a
 * line. What does not fit waits until the child reads. If the child is already gone, its exit tells that.
 */
export function feedLine(pipe: Descriptor, text: string): void {
  let rest: Uint8Array = Buffer.from(text);
  const feed = () => {
    while (rest.length > 0) {
      if (!writable(pipe)) return void setTimeout(feed, PAUSE_MS);
      const written = write(pipe, rest.subarray(0, PORTION_BYTES));
      if (!written.ok) break;
      rest = rest.subarray(written.value);
    }
    close(pipe);
  };
  feed();
}
