/** What the operator sees, all of it on stderr and in one order: the lines of the start, and those of the decision log. */

import { formatFields, logLine } from "./fields.ts";
import { LineBuffer } from "./line-buffer.ts";
import { openOutlet } from "./writer.ts";

const STDERR = 2;

export const stderrLines = new LineBuffer(openOutlet(STDERR), (count) =>
  logLine("warn", formatFields({ event: "log-lines-dropped", count }), new Date()),
);

/** Writes one line of start-up, warning or fault to stderr, at once where it is taken. */
export function announce(line: string): void {
  writeLine(`mur-roost: ${line}`);
}

/** Writes a line to stderr as it is. */
export function writeLine(line: string): void {
  stderrLines.add(`${line}\n`);
  stderrLines.flush();
}
