/** Handing a child the one line of its standard input. */

import { write } from "../posix/content.ts";
import { writable } from "../posix/readiness.ts";
import { close, type Descriptor } from "../posix.ts";

/** What a pipe that can be written takes without waiting, on every platform (`PIPE_BUF`). */
const PORTION_BYTES = 512;
const PAUSE_MS = 20;

/**
 * Writes `text` to the pipe and closes it: at once, as a rule, for a pipe that is new takes more than a line. What does
 * not fit waits for the child to read. A child that is gone already says so by its exit.
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
