/**
 * What the operator sees, all of it on stderr: the start-up lines as they are, and the lines of the decision log.
 *
 * Nothing here may stop or slow the daemon: a stderr that is slow loses lines, which are counted; one that refuses
 * writes is given up line by line.
 */

import { fstatSync, writeSync } from "node:fs";
import { isWritable } from "../sys/poll.ts";

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
export class LineBuffer {
  readonly #bytes = Buffer.allocUnsafe(MAX_BUFFERED_BYTES);
  /** What is not yet written lies between the two. */
  #start = 0;
  #end = 0;
  #dropped = 0;
  #scheduled = false;
  readonly #tellOfDropped: (count: number) => string;
  readonly #chunkBytes = isRegularFile(STDERR) ? FILE_CHUNK_BYTES : PIPE_CHUNK_BYTES;

  /** @param tellOfDropped the line that says how many were dropped */
  constructor(tellOfDropped: (count: number) => string) {
    this.#tellOfDropped = tellOfDropped;
  }

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
    const line = this.#tellOfDropped(this.#dropped);
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
