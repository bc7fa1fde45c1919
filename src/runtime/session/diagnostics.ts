/** A session's diagnostics: standard error, and its own log once nobody reads that any more. */

import { appendFileSync } from "node:fs";
import { join } from "node:path";
import type { HeldLifeline } from "../lifeline/child.ts";
import type { Output } from "../output.ts";

/** Says one line. Never throws, and never waits. */
export type Diagnose = (line: string) => void;

/**
 * A delegated child's standard error is a pipe to its parent: once the parent is gone, lines go to
 * `logs/bootstrap.log` in the child's own records directory (roost-api, "A child ends with its parent").
 */
export function createDiagnostics(
  output: Output,
  recordsDirectory: string,
  lifeline: HeldLifeline | undefined,
): Diagnose {
  let read = true;
  void lifeline?.ended.then(() => {
    read = false;
  });
  return (line) => {
    const text = `${line.replaceAll("\n", " ")}\n`;
    if (read) return void output.stderr(Buffer.from(text));
    try {
      appendFileSync(join(recordsDirectory, "logs", "bootstrap.log"), text, { mode: 0o600 });
    } catch {
      // The folder was removed: there is nobody left to tell.
    }
  };
}
