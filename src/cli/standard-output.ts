/** Standard output, for a command whose answer may be long, and whose reader may go away. */

import { describeOsError, isSystemError } from "../os-error.ts";

/** How much is written at once. */
const CHUNK_CHARACTERS = 64 * 1024;

/**
 * Writes a whole answer to standard output, whatever reads it: each line with its line end.
 *
 * @returns the OS error, if there was one; a reader that went away is not an error
 */
export async function writeAll(lines: Iterable<string>): Promise<string | undefined> {
  // The stream reports an error here and to the callback of `write`. Only the callback's is used.
  process.stdout.on("error", () => {});
  try {
    let chunk = "";
    for (const line of lines) {
      chunk += `${line}\n`;
      if (chunk.length < CHUNK_CHARACTERS) continue;
      await write(chunk);
      chunk = "";
    }
    await write(chunk);
    return undefined;
  } catch (error) {
    return isSystemError(error) && error.code === "EPIPE" ? undefined : describeOsError(error);
  }
}

function write(chunk: string): Promise<void> {
  return new Promise((resolve, reject) => {
    process.stdout.write(chunk, (error) => (error ? reject(error) : resolve()));
  });
}
