/** Reads a child's answer: the file that it left in a directory which its parent holds open. */

import { ok } from "../../result.ts";
import { writeAll } from "../../sys/content.ts";
import { close, type Descriptor } from "../../sys/descriptors.ts";
import { describeError, type Errno, type Posix } from "../../sys/library.ts";
import { createRedactor, redactBytes } from "../redaction.ts";
import type { Secret } from "../secret.ts";
import { chunksOf, openRegularFile, type RegularFile, readAtOnce, replaceFile } from "../tree/files.ts";
import { ensureDirectoryAt } from "../tree/held.ts";
import { RESULT_NAMES } from "./result-place.ts";
import { decodeUtf8, wholeCharacters } from "./utf8.ts";

/** The most of an answer that is shown, in bytes. */
export const MAX_SHOWN_BYTES = 64 * 1024;
/** The most of a cut answer that is kept in a file, in bytes. */
export const MAX_KEPT_BYTES = 64 * 1024 ** 2;

export type Answer =
  | { readonly kind: "none" }
  | { readonly kind: "empty" }
  | { readonly kind: "whole"; readonly text: string }
  | {
      readonly kind: "cut";
      readonly text: string;
      readonly shownBytes: number;
      /** The file's size when it was opened. */
      readonly totalBytes: number;
      readonly kept: KeptAnswer;
    };

/** How much of the answer is in `delegations/<delegation id>.txt` in the runtime directory. */
export type KeptAnswer =
  | { readonly kind: "whole" }
  | { readonly kind: "beginning"; readonly bytes: number }
  | { readonly kind: "not-kept"; readonly reason: string };

/** Where to keep an answer that is too long to be shown in full. */
export interface Keeping {
  /** The parent's runtime directory. */
  readonly runtime: Descriptor;
  readonly delegationId: string;
  /** What to take out of the answer. Nothing else is removed. */
  readonly secrets: readonly Secret[];
}

/** Longer than the longest secret. Reading this many bytes past a cut shows whether a secret crosses it. */
export const BEYOND_BYTES = 8 * 1024 + 4;

/**
 * Reads the result file beneath `directory`, once the child has exited. A link, a FIFO or a directory in its place does
 * not count. The file is read only up to its size when it was opened, because a process that the child left running may
 * still write to it.
 */
export async function readAnswer(directory: Descriptor, keeping: Keeping): Promise<Answer> {
  const file = openRegularFile(directory, RESULT_NAMES);
  if (!file.ok) return { kind: "none" };
  try {
    return await readOpened(file.value, keeping);
  } finally {
    file.value.close();
  }
}

async function readOpened(file: RegularFile, keeping: Keeping): Promise<Answer> {
  const total = file.size;
  // Read more than is shown, to see whether the cut falls inside a character or a token.
  const head = readAtOnce(file, Math.min(total, MAX_SHOWN_BYTES + BEYOND_BYTES));
  if (!head.ok) return { kind: "none" };
  if (head.value.length === 0) return { kind: "empty" };
  const { secrets } = keeping;
  const shownBytes = wholeCharacters(head.value, Math.min(total, MAX_SHOWN_BYTES));
  const text = decodeUtf8(redactBytes(head.value, shownBytes, secrets));
  if (total <= MAX_SHOWN_BYTES) return { kind: "whole", text };
  return {
    kind: "cut",
    text,
    shownBytes,
    totalBytes: total,
    kept: await keep(file, head.value, keeping),
  };
}

async function keep(file: RegularFile, head: Uint8Array, keeping: Keeping): Promise<KeptAnswer> {
  const directory = ensureDirectoryAt(keeping.runtime, "delegations");
  if (!directory.ok) return notKept(directory.fault);
  try {
    let bytes = 0;
    const written = await replaceFile(directory.value, `${keeping.delegationId}.txt`, async (to) => {
      const copied = await copyRest(file, head, to, keeping.secrets);
      if (copied.ok) bytes = copied.value;
      return copied.ok ? ok(undefined) : copied;
    });
    if (!written.ok) return notKept(written.fault);
    return bytes < file.size ? { kind: "beginning", bytes } : { kind: "whole" };
  } finally {
    close(directory.value);
  }
}

function notKept(errno: Errno): KeptAnswer {
  return { kind: "not-kept", reason: describeError(errno) };
}

/** Copies the rest; if the file is cut, adds a last line that says so. Returns how many bytes read were kept. */
async function copyRest(
  file: RegularFile,
  head: Uint8Array,
  to: Descriptor,
  secrets: readonly Secret[],
): Promise<Posix<number>> {
  const note = Buffer.from(`\n[cut: this answer has ${file.size} bytes]\n`);
  const limit = file.size <= MAX_KEPT_BYTES ? file.size : MAX_KEPT_BYTES - note.length;
  const redactor = createRedactor(secrets);
  const put = (bytes: Uint8Array) => writeAll(to, redactor.push(bytes));
  const begun = put(head);
  if (!begun.ok) return begun;
  let kept = head.length;
  for await (const chunk of chunksOf(file, limit - kept)) {
    if (!chunk.ok) return chunk;
    const written = put(chunk.value);
    if (!written.ok) return written;
    kept += chunk.value.length;
  }
  const ended = writeAll(to, redactor.end());
  if (!ended.ok) return ended;
  const noted = kept < file.size ? writeAll(to, note) : ok(undefined);
  return noted.ok ? ok(kept) : noted;
}
