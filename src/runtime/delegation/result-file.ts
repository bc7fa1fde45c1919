/** A child's answer: the file it left in a directory that its parent holds. */

import { setImmediate as turn } from "node:timers/promises";
import { close, type Descriptor, describeError, encodeName, openDirectoryAt, type Posix } from "../posix.ts";
import { ok } from "../result.ts";
import {
  ensureDirectoryAt,
  type OpenFile,
  openRegularFile,
  readUpTo,
  replaceFile,
  writeAll,
} from "./held-files.ts";
import { decodeUtf8, wholeCharacters } from "./utf8.ts";

/** What is shown of an answer, in bytes. */
export const MAX_SHOWN_BYTES = 64 * 1024;
/** What is kept of an answer that was cut, in bytes. */
export const MAX_KEPT_BYTES = 64 * 1024 ** 2;
const CHUNK_BYTES = 1024 ** 2;

export type Answer =
  | { readonly kind: "none" }
  | { readonly kind: "empty" }
  | { readonly kind: "whole"; readonly text: string }
  | {
      readonly kind: "cut";
      readonly text: string;
      readonly shownBytes: number;
      /** The size the file had when it was opened. */
      readonly totalBytes: number;
      readonly kept: KeptAnswer;
    };

/** What `delegations/<delegation id>.txt` in the runtime directory holds. */
export type KeptAnswer =
  | { readonly kind: "whole" }
  | { readonly kind: "beginning"; readonly bytes: number }
  | { readonly kind: "not-kept"; readonly reason: string };

/** Where an answer is kept that is too long to be shown. */
export interface Keeping {
  /** The parent's runtime directory. */
  readonly runtime: Descriptor;
  readonly delegationId: string;
}

/**
 * Reads `out/result.txt` beneath `directory`, once the child has exited. A link, a FIFO or a directory in its place is
 * no result, and a file is read no further than the size it was opened with: something the child left running may go on
 * writing to it.
 */
export async function readAnswer(directory: Descriptor, keeping: Keeping): Promise<Answer> {
  const out = openDirectoryAt(directory, encodeName("out"));
  if (!out.ok) return { kind: "none" };
  const file = openRegularFile(out.value, "result.txt");
  close(out.value);
  if (!file) return { kind: "none" };
  try {
    return await readOpened(file, keeping);
  } finally {
    close(file.descriptor);
  }
}

async function readOpened(file: OpenFile, keeping: Keeping): Promise<Answer> {
  const total = file.status.size;
  // A few bytes more than are shown: the cut must see whether it falls inside a character.
  const head = readUpTo(file.descriptor, Math.min(total, MAX_SHOWN_BYTES + 4));
  if (!head.ok) return { kind: "none" };
  if (head.value.length === 0) return { kind: "empty" };
  if (total <= MAX_SHOWN_BYTES) return { kind: "whole", text: decodeUtf8(head.value) };
  const shownBytes = wholeCharacters(head.value, MAX_SHOWN_BYTES);
  return {
    kind: "cut",
    text: decodeUtf8(head.value.subarray(0, shownBytes)),
    shownBytes,
    totalBytes: total,
    kept: await keep(file, head.value, keeping),
  };
}

async function keep(file: OpenFile, head: Uint8Array, keeping: Keeping): Promise<KeptAnswer> {
  const directory = ensureDirectoryAt(keeping.runtime, "delegations");
  if (!directory.ok) return notKept(directory.fault);
  try {
    let bytes = 0;
    const written = await replaceFile(directory.value, `${keeping.delegationId}.txt`, async (to) => {
      const copied = await copyRest(file, head, to);
      if (copied.ok) bytes = copied.value;
      return copied.ok ? ok(undefined) : copied;
    });
    if (!written.ok) return notKept(written.fault);
    return bytes < file.status.size ? { kind: "beginning", bytes } : { kind: "whole" };
  } finally {
    close(directory.value);
  }
}

function notKept(errno: Parameters<typeof describeError>[0]): KeptAnswer {
  return { kind: "not-kept", reason: describeError(errno) };
}

/** Chunk by chunk, other work between two: the bytes kept, and a last line in the file where they are not all. */
async function copyRest(file: OpenFile, head: Uint8Array, to: Descriptor): Promise<Posix<number>> {
  const total = file.status.size;
  const note = Buffer.from(`\n[cut: this answer has ${total} bytes]\n`);
  const limit = total <= MAX_KEPT_BYTES ? total : MAX_KEPT_BYTES - note.length;
  let chunk = head;
  let kept = 0;
  while (chunk.length > 0) {
    const written = writeAll(to, chunk);
    if (!written.ok) return written;
    kept += chunk.length;
    await turn();
    const next = readUpTo(file.descriptor, Math.min(CHUNK_BYTES, limit - kept));
    if (!next.ok) return next;
    chunk = next.value;
  }
  if (kept < total) {
    const noted = writeAll(to, note);
    if (!noted.ok) return noted;
  }
  return ok(kept);
}
