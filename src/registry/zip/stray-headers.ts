/**
 * Looks through all bytes of an archive for local headers that the directory does not list.
 *
 * If the sizes of an entry follow its data, a reader that knows no directory finds the end of the data from the data. It may
 * find an earlier end than the directory's, and go on to a header inside of what is one entry to all others. From there it
 * may reach any byte of the file. So no such header may name a manifest, wherever it stands.
 *
 * An ordinary archive is refused here only if its entries' sizes follow their data and it holds another archive with a
 * `murmur.yaml`, as it is or deflated: deflate copies what it cannot shrink.
 */

import { LOCAL_BYTES, LOCAL_SIGNATURE } from "./local-header.ts";
import { manifestNamesIn } from "./names.ts";

/** With the longest name and the longest extra fields. */
const LONGEST_HEADER = LOCAL_BYTES + 2 * 0xffff;

/** No method has a higher number. Bytes that only look like a signature often do. */
const LAST_METHOD = 99;

export class StrayHeaders {
  readonly #listed: ReadonlySet<number>;
  /** Bytes that were seen, and not yet searched. */
  #bytes = Buffer.alloc(0);
  #start = 0;
  #areFound = false;

  /** @param listed the positions of the headers that the directory lists */
  constructor(listed: ReadonlySet<number>) {
    this.#listed = listed;
  }

  /** Goes on with the next bytes of the file. */
  *look(bytes: Buffer): Generator<void, void> {
    if (this.#areFound) return;
    this.#bytes = Buffer.concat([this.#bytes, bytes]);
    // Any other header might go on after these bytes.
    yield* this.#search(Math.max(0, this.#bytes.length - LONGEST_HEADER));
  }

  /** Whether one of them may name a manifest, after all bytes. */
  *areFound(): Generator<void, boolean> {
    yield* this.#search(this.#bytes.length);
    return this.#areFound;
  }

  /** Searches for headers that begin before `end`. */
  *#search(end: number): Generator<void, void> {
    const bytes = this.#bytes;
    const starts = bytes.subarray(0, end + LOCAL_SIGNATURE.length - 1);
    let names: ReturnType<typeof manifestNamesIn> | undefined;
    let name = 0;
    for (let at = starts.indexOf(LOCAL_SIGNATURE); at !== -1; at = starts.indexOf(LOCAL_SIGNATURE, at + 1)) {
      if (this.#listed.has(this.#start + at) || !isPlausible(bytes, at)) continue;
      names ??= manifestNamesIn(bytes);
      const nameStart = at + LOCAL_BYTES;
      while ((names[name]?.[0] ?? Infinity) < nameStart) name++;
      const headerEnd = nameStart + bytes.readUInt16LE(at + 26) + bytes.readUInt16LE(at + 28);
      if ((names[name]?.[1] ?? Infinity) <= headerEnd) {
        this.#areFound = true;
        return;
      }
      yield;
    }
    this.#bytes = bytes.subarray(end);
    this.#start += end;
  }
}

function isPlausible(bytes: Buffer, at: number): boolean {
  return at + LOCAL_BYTES <= bytes.length && bytes.readUInt8(at + 8) <= LAST_METHOD;
}
