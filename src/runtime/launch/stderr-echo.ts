/** A child's standard error: echoed line by line, with its last lines remembered, and no token in either. */

import { printable } from "../../printable.ts";
import { partialSecret, redactSaid } from "../redaction.ts";
import { REDACTED, type Secret } from "../secret.ts";

/** The longest line, in bytes. A longer one is cut. */
const MAX_LINE = 8 * 1024;
/** How many lines are remembered for a report of how the child ended. */
const REMEMBERED_LINES = 20;
/** How many bytes are held back until the child's own token is known. */
const MAX_HELD = 256 * 1024;

/** One line as Latin-1 text: one character is one byte, so it can be cut and searched without decoding. */
interface RawLine {
  readonly text: string;
  readonly cut: boolean;
}

export interface StderrEcho {
  /** The next bytes of the pipe. */
  write(chunk: Uint8Array): Promise<void>;
  /** The pipe has ended. A last line without a line feed counts too. */
  end(): Promise<void>;
  /**
   * Releases what was held back, and from now on echoes lines as they come. Until then the child's own token is
   * unknown, and the child may write it to its standard error before its readiness line.
   */
  release(more: readonly Secret[]): Promise<void>;
  /** The last lines, at most 20, redacted and escaped. */
  lastLines(): string[];
}

export function createStderrEcho(
  secrets: readonly Secret[],
  write: (bytes: Uint8Array) => Promise<void>,
): StderrEcho {
  let known = secrets;
  let pending = "";
  let dropping = false;
  let held: RawLine[] | undefined = [];
  let heldSize = 0;
  let leftOut = 0;
  const remembered: RawLine[] = [];

  const echo = (lines: readonly string[]) =>
    lines.length === 0 ? Promise.resolve() : write(Buffer.from(`${lines.join("\n")}\n`));

  const take = (lines: readonly RawLine[]): Promise<void> => {
    remembered.push(...lines);
    remembered.splice(0, remembered.length - REMEMBERED_LINES);
    if (!held) return echo(lines.map((line) => show(line, known)));
    for (const line of lines) {
      heldSize += line.text.length + 1;
      if (heldSize <= MAX_HELD) held.push(line);
      else leftOut++;
    }
    return Promise.resolve();
  };

  return {
    write(chunk) {
      const parts = (pending + Buffer.from(chunk).toString("latin1")).split("\n");
      pending = parts.pop() ?? "";
      const lines: RawLine[] = [];
      for (const part of parts) {
        if (!dropping) lines.push(limit(part));
        dropping = false;
      }
      if (pending.length > MAX_LINE) {
        if (!dropping) lines.push(limit(pending));
        dropping = true;
        pending = "";
      }
      return take(lines);
    },
    end() {
      const last = pending;
      pending = "";
      return last === "" || dropping ? Promise.resolve() : take([limit(last)]);
    },
    release(more) {
      known = [...known, ...more];
      const lines = held?.map((line) => show(line, known)) ?? [];
      if (leftOut > 0) lines.push(`[${leftOut} more lines before the child was ready are left out]`);
      held = undefined;
      return echo(lines);
    },
    lastLines: () => remembered.map((line) => show(line, known)),
  };
}

function limit(text: string): RawLine {
  return { text: text.slice(0, MAX_LINE), cut: text.length > MAX_LINE };
}

/** Redacts the bytes, then reads them as UTF-8 and escapes them. So no line can move a cursor or forge another line. */
function show(line: RawLine, secrets: readonly Secret[]): string {
  let text = redactSaid(line.text.replace(/\r$/, ""), secrets);
  if (line.cut) {
    const part = partialSecret(text, secrets);
    if (part > 0) text = `${text.slice(0, -part)}${REDACTED}`;
    text += Buffer.from(" […]").toString("latin1");
  }
  return printable(Buffer.from(text, "latin1").toString("utf8"));
}
