/**
 * Reads a regular file below a held directory without trusting whoever left it there. No link is followed on the way,
 * and a FIFO is not waited for. The file is inspected after it was opened, and never more is read than the reader asked
 * for.
 */

import { read as readFile } from "node:fs";
import { constants } from "node:os";
import { promisify } from "node:util";
import { isSystemError } from "../../os-error.ts";
import { fault, ok, type Result } from "../../result.ts";
import { read } from "../../sys/content.ts";
import { close, type Descriptor } from "../../sys/descriptors.ts";
import { encodeName, openForReadingAt } from "../../sys/entries.ts";
import type { Errno, Posix } from "../../sys/library.ts";
import { statusOf } from "../../sys/status.ts";
import { openDescendant } from "./own.ts";

const CHUNK_BYTES = 256 * 1024;

/** Open for reading, positioned at its beginning. */
export interface RegularFile {
  readonly descriptor: Descriptor;
  /** Its size in bytes when it was opened. Another process may still write to it. */
  readonly size: number;
  close(): void;
}

/** `not-regular`: a directory, a FIFO, a socket or a device. A link is `ELOOP`, or `ENOTDIR` on the way. */
export type Unopened = Errno | "not-regular";

/** @param names the names of the entries on the way, the file's last */
export function openRegularFile(
  directory: Descriptor,
  names: readonly string[],
): Result<RegularFile, Unopened> {
  const steps = names.map(encodeName);
  const name = steps.pop();
  if (!name) return fault("EINVAL");
  const parent = openDescendant(directory, steps);
  if (!parent.ok) return fault(parent.fault.errno);
  const opened = openForReadingAt(parent.value, name);
  if (parent.value !== directory) close(parent.value);
  if (!opened.ok) return opened;
  const descriptor = opened.value;
  const status = statusOf(descriptor);
  if (status.ok && status.value.kind === "file") {
    return ok({ descriptor, size: status.value.size, close: () => close(descriptor) });
  }
  close(descriptor);
  return status.ok ? fault("not-regular") : status;
}

/** The next bytes, at most `limit`, read at once: for small files. Fewer only at the end of the file. */
export function readAtOnce(file: RegularFile, limit: number): Posix<Uint8Array> {
  const bytes = new Uint8Array(limit);
  let length = 0;
  while (length < limit) {
    const count = read(file.descriptor, bytes.subarray(length));
    if (!count.ok) return count;
    if (count.value === 0) break;
    length += count.value;
  }
  return ok(bytes.subarray(0, length));
}

/** Bun's own read, which does not block the thread. */
const readAsync = promisify(readFile);

/** The next bytes, at most `limit`, piece by piece. The caller may keep each piece. A fault comes last. */
export async function* chunksOf(file: RegularFile, limit: number): AsyncGenerator<Posix<Uint8Array>> {
  for (let rest = limit; rest > 0; ) {
    const chunk = new Uint8Array(Math.min(CHUNK_BYTES, rest));
    let filled: number;
    try {
      filled = (await readAsync(file.descriptor, chunk, 0, chunk.length, null)).bytesRead;
    } catch (error) {
      yield fault(errnoOf(error));
      return;
    }
    if (filled === 0) return;
    rest -= filled;
    yield ok(chunk.subarray(0, filled));
  }
}

function errnoOf(error: unknown): Errno {
  const code = isSystemError(error) ? error.code : "";
  return isErrno(code) ? code : "EUNKNOWN";
}

function isErrno(code: string): code is Errno {
  return Object.hasOwn(constants.errno, code);
}
