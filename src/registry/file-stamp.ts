/**
 * What the file system says of a path, kept to be asked again: device, inode, size, and the modification and change
 * times in nanoseconds. Two equal stamps mean that the file was not replaced and not written to in between.
 *
 * The question is asked at each request, for several paths, so on Linux it allocates nothing.
 */

import { statSync } from "node:fs";
import { ENOENT, statInto } from "../sys/stat.ts";

/** A path, and what stood there; no stamp where nothing did. */
export interface Sighting {
  readonly path: string;
  readonly stamp: Stamp | undefined;
  /** The path as the system call wants it. */
  readonly bytes: Uint8Array;
}

interface Stamp {
  /** Compared one by one; what they are differs by platform. */
  readonly words: Uint32Array;
  /** When it last changed in any way, in unix milliseconds. Every write moves it, and nobody can set it. */
  readonly changedAt: number;
}

/** A file that changed less than this ago could change again within the same time stamp. */
const SETTLED_AFTER_MS = 20;
/** A change that lies further ahead is of a clock that was set back since: the next one will carry another time. */
const CLOCK_SET_BACK_MS = 1000;

/**
 * Looks at a path; a link is followed.
 *
 * @throws the file system's error, but for "there is nothing"
 */
export function sight(path: string): Sighting {
  const bytes = Buffer.from(`${path}\u0000`);
  return { path, bytes, stamp: stampOf(path, bytes) };
}

/** Whether every path still is as it was seen. */
export function isUnchanged(seen: readonly Sighting[]): boolean {
  return seen.every(isLike);
}

/**
 * Whether none of these files had changed so recently that a second change could carry the same time.
 *
 * @param seenAt unix milliseconds, read before they were looked at
 */
export function isSettled(seen: readonly Sighting[], seenAt: number): boolean {
  return seen.every(({ stamp }) => {
    if (!stamp) return true;
    const age = seenAt - stamp.changedAt;
    return age > SETTLED_AFTER_MS || age < -CLOCK_SET_BACK_MS;
  });
}

/** Where the words of a stamp stand in `struct statx`: inode, size, change time, modification time, device. */
const STATX_WORDS = [0x20, 0x24, 0x28, 0x2c, 0x60, 0x64, 0x68, 0x70, 0x74, 0x78, 0x88, 0x8c].map(
  (at) => at / 4,
);
const STATX = new Uint32Array(64);
const STATX_BYTES = new Uint8Array(STATX.buffer);
const STATX_VIEW = new DataView(STATX.buffer);
const STATX_CHANGED_SECONDS = 0x60;
const STATX_CHANGED_NANOSECONDS = 0x68;

function stampOf(path: string, bytes: Uint8Array): Stamp | undefined {
  const error = statInto(bytes, STATX_BYTES);
  if (error === ENOENT) return undefined;
  if (error === 0) {
    const seconds = Number(STATX_VIEW.getBigInt64(STATX_CHANGED_SECONDS, true));
    const nanoseconds = STATX_VIEW.getUint32(STATX_CHANGED_NANOSECONDS, true);
    return {
      words: Uint32Array.from(STATX_WORDS, (word) => STATX[word] ?? 0),
      changedAt: seconds * 1000 + nanoseconds / 1e6,
    };
  }
  const stat = statSync(path, { bigint: true, throwIfNoEntry: false });
  if (!stat) return undefined;
  const numbers = BigUint64Array.of(stat.ino, stat.size, stat.ctimeNs, stat.mtimeNs, stat.dev);
  return { words: new Uint32Array(numbers.buffer), changedAt: Number(stat.ctimeNs) / 1e6 };
}

function isLike({ path, bytes, stamp }: Sighting): boolean {
  const error = statInto(bytes, STATX_BYTES);
  if (error !== undefined) {
    if (error !== 0) return error === ENOENT && stamp === undefined;
    return stamp !== undefined && STATX_WORDS.every((word, index) => STATX[word] === stamp.words[index]);
  }
  try {
    const now = stampOf(path, bytes);
    return now === undefined || stamp === undefined
      ? now === stamp
      : stamp.words.every((word, index) => word === now.words[index]);
  } catch {
    return false;
  }
}
