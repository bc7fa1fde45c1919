/**
 * An archive on disk: read once from start to end, except for its last part, which is needed first, and hashed as it is read.
 *
 * Every byte that a reader takes goes into the hash. Bytes that a reader peeks at earlier are kept, and compared with the
 * hashed bytes when the reading gets there. So the bytes read are always the bytes hashed, even if someone writes to the
 * file meanwhile. The file is never held in memory as a whole.
 */

import { readSync } from "node:fs";
import type { Sha256 } from "../artifact-name.ts";

/** How much is read and hashed between two pauses; it takes a fraction of a millisecond. */
const WINDOW_BYTES = 128 * 1024;

/** Why no manifest can be read from an archive: one phrase, which quotes nothing of its contents. The host did not fail. */
export class ArchiveFault extends Error {}

/** The hashed bytes differ from the peeked ones, or the file became shorter. */
export class FileChanged extends Error {}

interface Shown {
  readonly start: number;
  readonly bytes: Buffer;
}

/** Is shown all bytes in order, as they are hashed. The bytes are its own only until it is done. */
export type Watcher = (bytes: Buffer) => Generator<void, void>;

/** Each method pauses now and then, so that others can run. */
export class HashedFile {
  readonly size: number;
  readonly #descriptor: number;
  readonly #hasher = new Bun.CryptoHasher("sha256");
  readonly #shown: Shown[] = [];
  /** The bytes hashed last, from `#windowStart` to `#hashed`. */
  readonly #window: Buffer;
  #windowStart = 0;
  #hashed = 0;
  #position = 0;
  #watcher: Watcher | undefined;

  constructor(descriptor: number, size: number) {
    this.#descriptor = descriptor;
    this.size = size;
    this.#window = Buffer.allocUnsafe(Math.min(WINDOW_BYTES, size));
  }

  /** The reader's position. */
  get position(): number {
    return this.#position;
  }

  /** Shows the file to `watcher` from its start: nothing may have been read yet, except by `peek`. */
  watch(watcher: Watcher): void {
    this.#watcher = watcher;
  }

  /** Bytes ahead of the reader, which does not move. Both ends must be within the file. */
  *peek(start: number, length: number): Generator<void, Buffer> {
    const bytes = Buffer.allocUnsafe(length);
    for (let done = 0; done < length; done += WINDOW_BYTES) {
      this.#read(bytes.subarray(done, done + WINDOW_BYTES), start + done);
      yield;
    }
    this.#shown.push({ start, bytes });
    return bytes;
  }

  /** Moves the reader forward to a position. */
  *skipTo(position: number): Generator<void, void> {
    if (position < this.#position || position > this.size) throw new RangeError("no way to go there");
    while (this.#hashed < position) yield* this.#advance();
    this.#position = position;
  }

  /**
   * Reads the next bytes.
   *
   * @throws ArchiveFault if the file ends before they do
   */
  *take(length: number): Generator<void, Buffer> {
    if (this.#position + length > this.size) throw new ArchiveFault("it is truncated");
    const taken = Buffer.allocUnsafe(length);
    for (let done = 0; done < length; ) {
      if (this.#position === this.#hashed) yield* this.#advance();
      // It ends with the window or with what is taken, which is all within the file.
      const copied = this.#window.copy(taken, done, this.#position - this.#windowStart);
      done += copied;
      this.#position += copied;
    }
    return taken;
  }

  /** Reads to the end, and returns the hash of all bytes. */
  *finish(): Generator<void, Sha256> {
    yield* this.skipTo(this.size);
    return this.#hasher.digest("hex") as Sha256;
  }

  *#advance(): Generator<void, void> {
    const start = this.#hashed;
    const window = this.#window.subarray(0, Math.min(WINDOW_BYTES, this.size - start));
    this.#read(window, start);
    this.#hasher.update(window);
    for (const shown of this.#shown) {
      if (!isSameWhereBoth({ start, bytes: window }, shown)) throw new FileChanged();
    }
    this.#windowStart = start;
    this.#hashed = start + window.length;
    yield;
    if (this.#watcher) yield* this.#watcher(window);
  }

  /** @throws the file system's error, or FileChanged */
  #read(into: Buffer, position: number): void {
    for (let done = 0; done < into.length; ) {
      const count = readSync(this.#descriptor, into, done, into.length - done, position + done);
      if (count === 0) throw new FileChanged();
      done += count;
    }
  }
}

function isSameWhereBoth(one: Shown, other: Shown): boolean {
  const start = Math.max(one.start, other.start);
  const end = Math.min(one.start + one.bytes.length, other.start + other.bytes.length);
  if (start >= end) return true;
  const part = ({ start: at, bytes }: Shown) => bytes.subarray(start - at, end - at);
  return part(one).equals(part(other));
}
