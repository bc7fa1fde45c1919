/** A session's diagnostics: to standard error, or to its own log once nobody reads standard error any more. */

import { printable } from "../../printable.ts";
import { close } from "../../sys/descriptors.ts";
import type { HeldLifeline } from "../lifeline/child.ts";
import type { Output } from "../output.ts";
import { redactSaid } from "../redaction.ts";
import { appendLine } from "../tree/appended-file.ts";
import type { HeldDirectory } from "../tree/held.ts";
import { ensureDirectoryAt } from "../tree/replaced-file.ts";

/** Writes one line, with the daemon's tokens taken out and invisible characters escaped. Never throws or waits. */
export type Diagnose = (line: string) => void;

/** The embedding program's function may fail. We ignore that, because there is nowhere else to report it. */
function say({ stderr }: Output, bytes: Uint8Array): void {
  try {
    stderr(bytes).catch(() => {});
  } catch {}
}

/**
 * A delegated child's standard error is a pipe to its parent. Once the parent is gone, lines go to
 * `logs/bootstrap.log` in the child's records directory (API page, "A child ends with its parent").
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
    // If the log cannot be written either, there is nowhere left to report it.
    const logs = ensureDirectoryAt(records.descriptor, "logs");
    if (!logs.ok) return;
    appendLine(logs.value, "bootstrap.log", bytes);
    close(logs.value);
  };
}
