/** A session's diagnostics: standard error, and its own log once nobody reads that any more. */

import { printable } from "../../printable.ts";
import { close } from "../../sys/descriptors.ts";
import type { HeldLifeline } from "../lifeline/child.ts";
import type { Output } from "../output.ts";
import { redactSaid } from "../redaction.ts";
import { appendLine } from "../tree/appended-file.ts";
import type { HeldDirectory } from "../tree/held.ts";
import { ensureDirectoryAt } from "../tree/replaced-file.ts";

/** Says one line: no token of the daemon's is in it, and what cannot be seen is escaped. Never throws, and never waits. */
export type Diagnose = (line: string) => void;

/** A function that is given from outside may fail: there is nobody else to tell. */
function say({ stderr }: Output, bytes: Uint8Array): void {
  try {
    stderr(bytes).catch(() => {});
  } catch {}
}

/**
 * A delegated child's standard error is a pipe to its parent: once the parent is gone, lines go to
 * `logs/bootstrap.log` in the child's own records directory (API page, "A child ends with its parent").
 */
export function createDiagnostics(
  output: Output,
  records: Pick<HeldDirectory, "descriptor">,
  lifeline: Pick<HeldLifeline, "ended"> | undefined,
): Diagnose {
  let read = true;
  void lifeline?.ended.then(() => {
    read = false;
  });
  return (line) => {
    const bytes = Buffer.from(`${printable(redactSaid(line.replaceAll("\n", " "), []))}\n`);
    if (read) return say(output, bytes);
    // Where the folder cannot be written to there is nobody left to tell.
    const logs = ensureDirectoryAt(records.descriptor, "logs");
    if (!logs.ok) return;
    appendLine(logs.value, "bootstrap.log", bytes);
    close(logs.value);
  };
}
