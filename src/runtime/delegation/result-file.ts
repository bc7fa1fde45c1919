/** The file in which a capsule leaves its answer: written by the capsule, read by its parent. */

import { fault, ok, type Result } from "../../result.ts";
import { writeAll } from "../../sys/content.ts";
import { close, type Descriptor } from "../../sys/descriptors.ts";
import { describeError, type Posix } from "../../sys/library.ts";
import { CHILD_FILE_BYTES } from "../child-files.ts";
import type { Clock } from "../clock.ts";
import { createRedactor, redactBytes } from "../redaction.ts";
import type { Secret } from "../secret.ts";
import {
  chunksOf,
  openIfThere,
  openRegularFile,
  type RegularFile,
  readAtOnce,
  replaceFile,
} from "../tree/files.ts";
import { ensureDirectoryAt, type HeldDirectory } from "../tree/held.ts";
import { CUT_MARK, decodeUtf8, wholeCharacters } from "./untrusted.ts";

const FOLDER = "out";
const FILE = "result.txt";
const NAMES = [FOLDER, FILE];
/** Its path, relative to a capsule's records directory or a script's work folder. */
const RESULT_PATH = `${FOLDER}/${FILE}`;

/** Leaves an answer in a records directory; the fault is a sentence. */
export async function leaveResult(
  records: Descriptor,
  answer: string | Uint8Array,
): Promise<Result<void, string>> {
  const folder = ensureDirectoryAt(records, FOLDER);
  if (!folder.ok) {
    return fault(`${FOLDER} could not be made in the records directory: ${describeError(folder.fault)}`);
  }
  try {
    const bytes = typeof answer === "string" ? Buffer.from(answer) : answer;
    const written = await replaceFile(folder.value, FILE, (descriptor) => writeAll(descriptor, bytes));
    if (written.ok) return written;
    return fault(`${RESULT_PATH} could not be written: ${describeError(written.fault)}`);
  } finally {
    close(folder.value);
  }
}

/** The path of the result file, to be shown; `undefined` if there is none. */
export function resultPathIn({ path, descriptor }: HeldDirectory): string | undefined {
  const result = openRegularFile(descriptor, NAMES);
  if (!result.ok) return undefined;
  result.value.close();
  return `${path}/${RESULT_PATH}`;
}

/** The most of an answer that is shown, in bytes. */
const MAX_SHOWN_BYTES = 64 * 1024;

export type Answer =
  | { readonly kind: "none" }
  /** It is not known whether the child left one. */
  | { readonly kind: "unread"; readonly reason: string }
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
interface Keeping {
  /** The parent's runtime directory. */
  readonly runtime: Descriptor;
  readonly delegationId: string;
  /** What to take out of the answer. Nothing else is removed. */
  readonly secrets: readonly Secret[];
  /** For the wait if no descriptor is free: 2 s at most. */
  readonly clock: Clock;
}

/** Longer than the longest secret. Reading this many bytes past a cut shows whether a secret crosses it. */
const BEYOND_BYTES = 8 * 1024 + 4;

/**
 * Reads the result file beneath `directory`, once the child has exited. A link, a FIFO or a directory in its place does
 * not count. The file is read only up to its size when it was opened, because a process that the child left running may
 * still write to it.
 */
export async function readAnswer(directory: Descriptor, keeping: Keeping): Promise<Answer> {
  const file = await openIfThere(directory, NAMES, keeping.clock);
  if (!file.ok) return { kind: "unread", reason: file.fault };
  if (!file.value) return { kind: "none" };
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
  if (!head.ok) return { kind: "unread", reason: describeError(head.fault) };
  if (head.value.length === 0) return { kind: "empty" };
  const { secrets } = keeping;
  const shownBytes = wholeCharacters(head.value, Math.min(total, MAX_SHOWN_BYTES));
  const text = decodeUtf8(redactBytes(head.value, shownBytes, secrets));
  if (total <= MAX_SHOWN_BYTES) return { kind: "whole", text };
  const kept = await keep(file, head.value, keeping);
  return { kind: "cut", text, shownBytes, totalBytes: total, kept };
}

async function keep(
  file: RegularFile,
  head: Uint8Array,
  { runtime, delegationId, secrets }: Keeping,
): Promise<KeptAnswer> {
  const directory = ensureDirectoryAt(runtime, "delegations");
  if (!directory.ok) return { kind: "not-kept", reason: describeError(directory.fault) };
  let bytes = head.length;
  const isCut = () => bytes < file.size;
  /** If the file is cut, its last line says so. */
  const copy = async (to: Descriptor): Promise<Posix<void>> => {
    const note = Buffer.from(`\n[cut: this answer has ${file.size} bytes]\n`);
    const limit = file.size <= CHILD_FILE_BYTES ? file.size : CHILD_FILE_BYTES - note.length;
    const redactor = createRedactor(secrets);
    const begun = writeAll(to, redactor.push(head));
    if (!begun.ok) return begun;
    for await (const chunk of chunksOf(file, limit - bytes)) {
      if (!chunk.ok) return chunk;
      const written = writeAll(to, redactor.push(chunk.value));
      if (!written.ok) return written;
      bytes += chunk.value.length;
    }
    // A token that the cut parts is not shown in part.
    const rest = redactor.end();
    const ended = writeAll(to, isCut() ? Buffer.alloc(rest.length, "*") : rest);
    return ended.ok && isCut() ? writeAll(to, note) : ended;
  };
  try {
    const written = await replaceFile(directory.value, `${delegationId}.txt`, copy);
    if (!written.ok) return { kind: "not-kept", reason: describeError(written.fault) };
    return isCut() ? { kind: "beginning", bytes } : { kind: "whole" };
  } finally {
    close(directory.value);
  }
}

/**
 * The whole result file, with the secrets taken out; empty if there is no such file or directory. The fault says why it
 * could not be read. If no descriptor is free, this waits up to 2 s for one.
 */
export async function resultText(
  directory: HeldDirectory | undefined,
  secrets: readonly Secret[],
  clock: Clock,
): Promise<Result<string, string>> {
  if (!directory) return ok("");
  const file = await openIfThere(directory.descriptor, NAMES, clock);
  if (!file.ok || !file.value) return file.ok ? ok("") : file;
  const chunks: Uint8Array[] = [];
  try {
    for await (const chunk of chunksOf(file.value, CHILD_FILE_BYTES + BEYOND_BYTES)) {
      if (!chunk.ok) return fault(describeError(chunk.fault));
      chunks.push(chunk.value);
    }
  } finally {
    file.value.close();
  }
  const bytes = Buffer.concat(chunks);
  const kept = wholeCharacters(bytes, CHILD_FILE_BYTES);
  const text = decodeUtf8(redactBytes(bytes, kept, secrets));
  if (kept === bytes.length) return ok(text);
  return ok(`${text}${CUT_MARK}\n[cut at ${kept} of ${Math.max(file.value.size, bytes.length)} bytes]`);
}
