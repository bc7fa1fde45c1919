/** Appends whole lines to files below a directory that is held by descriptor. */

import { fault, ok, type Result } from "../../result.ts";
import { read, seek } from "../../sys/content.ts";
import { close, type Descriptor } from "../../sys/descriptors.ts";
import { encodeName, openForAppendingAt } from "../../sys/entries.ts";
import { describeError, type Posix } from "../../sys/library.ts";
import { statusOf } from "../../sys/status.ts";
import { writeAll } from "./replaced-file.ts";

const LINE_FEED = 0x0a;

/**
 * Appends `line`, which ends in a line feed, to the file `name`, and makes the file if there is none. This is usually
 * one write, so lines of other writers come before or after it. If the file ends in an incomplete line, as after a full
 * disk, the new line still starts on a line of its own.
 *
 * A link is not followed, and only a regular file is written to. The fault is a phrase that says why.
 */
export function appendLine(directory: Descriptor, name: string, line: Uint8Array): Result<void, string> {
  const file = openForAppendingAt(directory, encodeName(name));
  if (!file.ok) return fault(describeError(file.fault));
  try {
    const status = statusOf(file.value);
    if (!status.ok) return fault(describeError(status.fault));
    if (status.value.kind !== "file") return fault("it is not a regular file");
    const torn = endsTorn(file.value, status.value.size);
    if (!torn.ok) return fault(describeError(torn.fault));
    const bytes = torn.value ? Buffer.concat([Uint8Array.of(LINE_FEED), line]) : line;
    const written = writeAll(file.value, bytes);
    return written.ok ? written : fault(describeError(written.fault));
  } finally {
    close(file.value);
  }
}

function endsTorn(file: Descriptor, size: number): Posix<boolean> {
  if (size === 0) return ok(false);
  const at = seek(file, size - 1, "start");
  if (!at.ok) return at;
  const last = new Uint8Array(1);
  const count = read(file, last);
  return count.ok ? ok(count.value === 1 && last[0] !== LINE_FEED) : count;
}
