/** Where a capsule leaves its answer, and how. */

import { fault, ok, type Result } from "../../result.ts";
import { writeAll } from "../../sys/content.ts";
import { close, type Descriptor } from "../../sys/descriptors.ts";
import { describeError } from "../../sys/library.ts";
import { openRegularFile, replaceFile } from "../tree/files.ts";
import { ensureDirectoryAt } from "../tree/held.ts";

const FOLDER = "out";
const FILE = "result.txt";

/** The result file's path, relative to a capsule's records directory or a script's work folder. */
export const RESULT_NAMES = [FOLDER, FILE] as const;
export const RESULT_PATH = `${FOLDER}/${FILE}`;

/** Leaves an answer in a records directory; the fault is a sentence. */
export async function leaveResult(
  records: Descriptor,
  answer: string | Uint8Array,
): Promise<Result<void, string>> {
  const folder = ensureDirectoryAt(records, FOLDER);
  if (!folder.ok) {
    return fault(`${FOLDER} could not be made in the records directory: ${describeError(folder.fault)}`);
  }
  const bytes = typeof answer === "string" ? Buffer.from(answer) : answer;
  const written = await replaceFile(folder.value, FILE, (descriptor) => writeAll(descriptor, bytes));
  close(folder.value);
  return written.ok
    ? ok(undefined)
    : fault(`${RESULT_PATH} could not be written: ${describeError(written.fault)}`);
}

/** Whether there is a result file. */
export function hasResult(records: Descriptor): boolean {
  const result = openRegularFile(records, RESULT_NAMES);
  if (result.ok) result.value.close();
  return result.ok;
}
