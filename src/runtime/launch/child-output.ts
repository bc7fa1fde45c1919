/** What becomes of a child's standard output and standard error. */

import { setImmediate as turn } from "node:timers/promises";
import { printable } from "../../printable.ts";
import { partialSecret, redactSaid } from "../redaction.ts";
import { REDACTED, type Secret } from "../secret.ts";
import { parseJsonObject } from "../wire.ts";

/** The longest first line, in bytes. A longer one does not count. */
const MAX_FIRST_LINE = 256 * 1024;
/** The longest further line that is copied whole, in bytes. A longer one is copied in pieces. */
const MAX_PENDING = 128 * 1024;

export type FirstLine =
  | { readonly kind: "line"; readonly text: string }
  | { readonly kind: "too-long" }
  /** The pipe ended before a line feed, and what came before that is not a JSON object. */
  | { readonly kind: "none" };

/** A child's standard output: the launcher takes the first line, and every further line is copied on. */
export function createStdoutRelay(write: (bytes: Uint8Array) => Promise<void>) {
  const { promise: firstLine, resolve: settleFirst } = Promise.withResolvers<FirstLine>();
  const { promise: chosen, resolve: choose } = Promise.withResolvers<readonly Secret[] | "discard">();
  let first: string | undefined = "";
  // Latin-1: one character is one byte, so nothing is decoded on its way through.
  let pending = "";
  /** Whether a piece of a long line was copied, and not its end. */
  let isInLine = false;

  const pass = async (text: string, last: boolean) => {
    const secrets = await chosen;
    if (secrets === "discard") return;
    // Only new bytes are searched, so a line that comes byte by byte costs no more than one that comes at once.
    const end = text.lastIndexOf("\n");
    let whole = end < 0 ? 0 : pending.length + end + 1;
    pending += text;
    if (last) {
      // Whoever writes next begins a line of its own.
      if (pending !== "" || isInLine) pending += "\n";
      whole = pending.length;
    }
    if (whole === 0 && pending.length > MAX_PENDING) whole = pending.length - partialSecret(pending, secrets);
    const ready = pending.slice(0, whole);
    pending = pending.slice(whole);
    if (ready === "") return;
    const shown = redactSaid(ready, secrets);
    isInLine = !shown.endsWith("\n");
    await write(Buffer.from(shown, "latin1"));
  };

  return {
    firstLine,
    /** The next bytes of the pipe. */
    async write(chunk: Uint8Array): Promise<void> {
      const text = Buffer.from(chunk).toString("latin1");
      if (first === undefined) return pass(text, false);
      const inText = text.indexOf("\n");
      const end = inText < 0 ? -1 : first.length + inText;
      first += text;
      if (end < 0 && first.length <= MAX_FIRST_LINE) return;
      const tooLong = end < 0 || end > MAX_FIRST_LINE;
      const line = Buffer.from(first.slice(0, end), "latin1").toString("utf8");
      const rest = tooLong ? "" : first.slice(end + 1);
      first = undefined;
      settleFirst(tooLong ? { kind: "too-long" } : { kind: "line", text: line });
      if (rest !== "") await pass(rest, false);
    },
    async end(): Promise<void> {
      const unended = Buffer.from(first ?? "", "latin1").toString("utf8");
      settleFirst(parseJsonObject(unended) ? { kind: "line", text: unended } : { kind: "none" });
      if (first === undefined) await pass("", true);
    },
    /**
     * Copies every further line on, with `secrets` redacted. Until this is called the lines wait, and so does the child.
     */
    copy: (secrets: readonly Secret[]) => choose(secrets),
    /** Throws away every further line. */
    discard: () => choose("discard"),
  };
}

/** The longest line, in bytes. A longer one is cut. */
const MAX_LINE = 8 * 1024;
/** How many lines are remembered for a report of how the child ended. */
const REMEMBERED_LINES = 20;
/** How many are prepared between two turns of the event loop: a millisecond's work. */
const LINES_AT_ONCE = 1000;
/** How many bytes wait: until the child's own token is known, or while earlier lines are written. */
const MAX_WAITING = 256 * 1024;

/** One line as Latin-1 text: one character is one byte, so it can be cut and searched without decoding. */
interface RawLine {
  readonly text: string;
  readonly cut: boolean;
}

/** A child's standard error: echoed line by line, with its last lines remembered, and no token in either. */
export function createStderrEcho(secrets: readonly Secret[], write: (bytes: Uint8Array) => Promise<void>) {
  const lines = createLineCutter();
  const remembered: RawLine[] = [];
  let known = secrets;
  let waiting: RawLine[] = [];
  let waitingBytes = 0;
  let leftOut = 0;
  let which = "before the child was ready";
  let released = false;
  /** Settles once nothing waits any more. */
  let echoing: Promise<void> | undefined;

  const echo = async () => {
    while (waiting.length > 0) {
      const lines = waiting;
      const note = leftOut > 0 ? [`[${leftOut} more lines ${which} are left out]`] : [];
      waiting = [];
      waitingBytes = leftOut = 0;
      which = "that were not read in time";
      for (let at = 0; at < lines.length; at += LINES_AT_ONCE) {
        // A child that writes empty lines holds up nobody else.
        if (at > 0) await turn();
        const shown = lines.slice(at, at + LINES_AT_ONCE).map((line) => show(line, known));
        if (at + LINES_AT_ONCE >= lines.length) shown.push(...note);
        await write(Buffer.from(`${shown.join("\n")}\n`));
      }
    }
    echoing = undefined;
  };

  const take = (cut: readonly RawLine[]): Promise<void> => {
    remembered.push(...cut);
    remembered.splice(0, remembered.length - REMEMBERED_LINES);
    // What can be written at once is never left out.
    const isBounded = !released || echoing !== undefined;
    for (const line of cut) {
      waitingBytes += line.text.length + 1;
      if (!isBounded || waitingBytes <= MAX_WAITING) waiting.push(line);
      else leftOut++;
    }
    if (!released || waiting.length === 0) return Promise.resolve();
    echoing ??= echo();
    return echoing;
  };

  return {
    /**
     * The next bytes of the pipe. Settles when their lines are echoed. More bytes may come before that: lines then wait,
     * and those that are too many are left out.
     */
    write: (chunk: Uint8Array) => take(lines.cut(chunk)),
    /** The pipe has ended. A last line without a line feed counts too. */
    end: () => take(lines.end()),
    /**
     * Releases what was held back, and from now on echoes lines as they come. Until then the child's own token is
     * unknown, and the child may write it to its standard error before its readiness line.
     */
    release(more: readonly Secret[]): Promise<void> {
      known = [...known, ...more];
      released = true;
      return take([]);
    },
    /** The last lines, at most 20, redacted and escaped. */
    lastLines: () => remembered.map((line) => show(line, known)),
  };
}

/** Cuts the bytes of a pipe into lines. Of a line that is too long, the rest is dropped. */
function createLineCutter() {
  let pending = "";
  let dropping = false;
  return {
    cut(chunk: Uint8Array): RawLine[] {
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
      return lines;
    },
    /** The last line, if it has no line feed. */
    end(): RawLine[] {
      const last = pending;
      pending = "";
      return last === "" || dropping ? [] : [limit(last)];
    },
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
