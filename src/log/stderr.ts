/** All output for the operator goes to stderr through one buffer, so start-up lines and decisions stay in order. */

import { formatFields, logLine } from "./fields.ts";
import { LineBuffer } from "./line-buffer.ts";
import { openOutlet } from "./writer.ts";

const STDERR = 2;

export const stderrLines = new LineBuffer(openOutlet(STDERR), (count) =>
  logLine("warn", formatFields({ event: "log-lines-dropped", count }), new Date()),
);

/** Writes one line about the start, a warning or a fault to stderr, at once if stderr takes it. */
export function announce(line: string): void {
  writeLine(`mur-roost: ${line}`);
}

/** Writes a line to stderr as it is. */
export function writeLine(line: string): void {
  stderrLines.add(`${line}\n`);
  stderrLines.flush();
}
