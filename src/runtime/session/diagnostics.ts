/** A session's diagnostics: standard error, and its own log once nobody reads that any more. */

import { closeSync, constants, mkdirSync, openSync, writeSync } from "node:fs";
import { join } from "node:path";
import type { HeldLifeline } from "../lifeline/child.ts";
import type { Output } from "../output.ts";

const { O_APPEND, O_CREAT, O_WRONLY, O_NOFOLLOW } = constants;

/** Says one line. Never throws, and never waits. */
export type Diagnose = (line: string) => void;

/** A function that is given from outside may fail: there is nobody else to tell. */
function say({ stderr }: Output, text: string): void {
  try {
    stderr(Buffer.from(text)).catch(() => {});
  } catch {}
}

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
    if (read) return say(output, text);
    const logs = join(recordsDirectory, "logs");
    try {
      mkdirSync(logs, { recursive: true, mode: 0o700 });
      const log = openSync(join(logs, "bootstrap.log"), O_APPEND | O_CREAT | O_WRONLY | O_NOFOLLOW, 0o600);
      writeSync(log, text);
      closeSync(log);
    } catch {
      // The folder was removed: there is nobody left to tell.
    }
  };
}
