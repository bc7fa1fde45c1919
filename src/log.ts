/**
 * What the operator sees, all of it on stderr: the start-up lines as they are, and the decision log, one line for each
 * grant, refusal, registration and retirement.
 *
 * Nothing here may stop or slow the daemon: a stderr that is slow loses lines, which are counted; one that refuses
 * writes is given up line by line.
 */

import { fstatSync, writeSync } from "node:fs";
import { type ConsolaInstance, createConsola, LogLevels } from "consola/core";
import { isWritable } from "./sys/poll.ts";
import { printable } from "./printable.ts";
import { tokenId } from "./tokens/seal.ts";

const STDERR = 2;

/** Writes one line of start-up, warning or fault to stderr, at once. */
export function announce(line: string): void {
  writeLine(`mur-roost: ${line}`);
}

/** Writes a line to stderr as it is. */
export function writeLine(line: string): void {
  writeAll(Buffer.from(`${line}\n`));
}

/** A stderr that refuses writes never stops the daemon. */
function writeAll(bytes: Uint8Array): boolean {
  try {
    for (let done = 0; done < bytes.length; ) done += writeSync(STDERR, bytes, done);
    return true;
  } catch {
    return false;
  }
}

/** Fields of one line, in the order they are written; absent ones are left out. */
export type LogFields = Readonly<Record<string, string | number | undefined>>;

export interface DecisionLog {
  granted(fields: LogFields): void;
  refused(fields: LogFields): void;
  /** A fault of the daemon itself. */
  failed(fields: LogFields): void;
  /** Writes out what is still held, as far as stderr takes it. */
  flush(): void;
}

/** The level in consola's own variable, `CONSOLA_LEVEL`, where it is a number; else consola's default. */
function levelFrom(environment: NodeJS.ProcessEnv): number {
  const text = environment.CONSOLA_LEVEL?.trim() ?? "";
  return /^-?[0-9]+$/.test(text) ? Number(text) : LogLevels.info;
}

export function createDecisionLog(environment: NodeJS.ProcessEnv): DecisionLog {
  const lines = new LineBuffer();
  const consola: ConsolaInstance = createConsola({
    level: levelFrom(environment),
    // consola folds lines that repeat; each decision is one of its own.
    throttle: 0,
    reporters: [
      { log: ({ date, type, args }) => lines.add(`${date.toISOString()} ${type} ${String(args[0])}\n`) },
    ],
  });
  return {
    granted(fields) {
      if (consola.level >= LogLevels.info) consola.info(formatFields(fields));
    },
    refused(fields) {
      if (consola.level >= LogLevels.warn) consola.warn(formatFields(fields));
    },
    failed: (fields) => consola.error(formatFields(fields)),
    flush: () => lines.flush(),
  };
}

/** `key=value` pairs; a value that is not plainly one word is quoted and escaped, so that no text can forge a line. */
export function formatFields(fields: LogFields): string {
  let line = "";
  for (const key in fields) {
    const value = fields[key];
    if (value === undefined) continue;
    line += `${line === "" ? "" : " "}${key}=${typeof value === "number" ? value : formatText(value)}`;
  }
  return line;
}

const PLAIN = /^[A-Za-z0-9_./:@+-]{1,256}$/;
const MAX_TEXT_CHARACTERS = 1024;

/** A token that was sent where none belongs: in a path, as a session's id, as a version. */
const MISPLACED_TOKEN = /ms[ac]1\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+/g;

function formatText(whole: string): string {
  const text = whole.includes("1.")
    ? whole.replace(MISPLACED_TOKEN, (token) => `token:${tokenId(token)}`)
    : whole;
  if (PLAIN.test(text)) return text;
  const shown = text.length > MAX_TEXT_CHARACTERS ? `${text.slice(0, MAX_TEXT_CHARACTERS)}…` : text;
  return printable(JSON.stringify(shown));
}

/** A pipe that polls as writable takes at least this much without blocking (POSIX: PIPE_BUF is 512 or more; 4096 here). */
const PIPE_CHUNK_BYTES = process.platform === "darwin" ? 512 : 4096;
/** A file takes what it is given; each write has its price, whatever its size. */
const FILE_CHUNK_BYTES = 64 * 1024;
/** Lines wait this long for others to be written with. */
const LINGER_MS = 10;
const MAX_BUFFERED_BYTES = 256 * 1024;
/** A character of a string takes at most this much in UTF-8. */
const MAX_CHARACTER_BYTES = 3;
const RETRY_MS = 50;

/**
 * Lines on their way to stderr. They are written between requests, and only as fast as the descriptor takes them: what
 * does not fit the buffer is dropped and counted.
 */
class LineBuffer {
  readonly #bytes = Buffer.allocUnsafe(MAX_BUFFERED_BYTES);
  /** What is not yet written lies between the two. */
  #start = 0;
  #end = 0;
  #dropped = 0;
  #scheduled = false;
  readonly #chunkBytes = isRegularFile(STDERR) ? FILE_CHUNK_BYTES : PIPE_CHUNK_BYTES;

  add(line: string): void {
    if (!this.#hasRoom(line)) {
      this.#dropped++;
      return;
    }
    this.#end += this.#bytes.write(line, this.#end);
    if (this.#scheduled) return;
    this.#scheduled = true;
    setTimeout(() => this.flush(), LINGER_MS);
  }

  flush(): void {
    this.#scheduled = false;
    for (this.#tellDropped(); this.#start < this.#end; this.#tellDropped()) {
      if (!isWritable(STDERR)) {
        this.#scheduled = true;
        setTimeout(() => this.flush(), RETRY_MS).unref();
        return;
      }
      const chunk = this.#bytes.subarray(this.#start, Math.min(this.#end, this.#start + this.#chunkBytes));
      this.#start += chunk.length;
      if (!writeAll(chunk)) this.#start = this.#end;
    }
    this.#start = 0;
    this.#end = 0;
  }

  #tellDropped(): void {
    if (this.#dropped === 0) return;
    const fields = formatFields({ event: "log-lines-dropped", count: this.#dropped });
    const line = `${new Date().toISOString()} warn ${fields}\n`;
    if (!this.#hasRoom(line)) return;
    this.#dropped = 0;
    this.#end += this.#bytes.write(line, this.#end);
  }

  #hasRoom(line: string): boolean {
    const bytes = line.length * MAX_CHARACTER_BYTES;
    if (this.#end + bytes <= MAX_BUFFERED_BYTES) return true;
    if (this.#start === 0) return false;
    this.#bytes.copyWithin(0, this.#start, this.#end);
    this.#end -= this.#start;
    this.#start = 0;
    return this.#end + bytes <= MAX_BUFFERED_BYTES;
  }
}

function isRegularFile(fd: number): boolean {
  try {
    return fstatSync(fd).isFile();
  } catch {
    // A closed stderr refuses its writes later.
    return false;
  }
}
