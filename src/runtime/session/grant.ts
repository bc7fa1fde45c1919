/** Reads the approval that a delegated child is launched with: the only line of its standard input. */

import { fault, ok, type Result } from "../../result.ts";
import { type Clock, unlessAborted, within } from "../clock.ts";
import type { StartRefusal } from "../contract/environment.ts";
import { parseSecret, type Secret } from "../secret.ts";

/** The longest input that counts as an approval, in bytes. */
const MAX_INPUT = 16 * 1024;
/** How long to wait for it. A parent writes the line and closes the pipe before it waits for anything else. */
const INPUT_MS = 30_000;

/**
 * Reads the input to its end. The launch is refused unless the input is one line with one token: without the approval's
 * header, the daemon would think that the operator started this capsule.
 */
export async function readGrant(
  input: ReadableStream<Uint8Array>,
  clock: Clock,
  signal?: AbortSignal,
): Promise<Result<Secret, StartRefusal>> {
  const read = await within(clock, INPUT_MS, unlessAborted(signal, readAll(input)));
  if (read === "late") return refused(`it did not end within ${INPUT_MS / 1000} s`);
  if (read.value === "aborted") return refused("it was given up before it had ended");
  if (read.value === undefined) return refused(`it is longer than ${MAX_INPUT} bytes`);
  const token = parseSecret(read.value.replace(/\n$/, ""));
  return token ? ok(token) : refused("it is not one line with one token");
}

function refused(why: string): Result<never, StartRefusal> {
  return fault({
    code: "E-RUN-019",
    message: `--spawn-grant-stdin: no spawn approval on standard input: ${why}; leave the flag out to start this capsule on its own`,
  });
}

async function readAll(input: ReadableStream<Uint8Array>): Promise<string | undefined> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  const reader = input.getReader();
  for (let chunk = await reader.read(); !chunk.done; chunk = await reader.read()) {
    size += chunk.value.length;
    if (size > MAX_INPUT) {
      void reader.cancel().catch(() => {});
      return undefined;
    }
    chunks.push(chunk.value);
  }
  return Buffer.concat(chunks).toString("latin1");
}
