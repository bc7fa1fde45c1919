/**
 * The central directory of a ZIP archive: its entries, which must fill it from start to end.
 *
 * An ordinary archiver writes it so, and no signature of an end record into it. One could only come about by chance, as a
 * checksum: for one entry in a thousand million. So its archives are not refused here.
 */

import { type DirectoryBounds, directoryBounds, LONGEST_END } from "./end-record.ts";
import { readExtraFields, resolveZip64 } from "./extra-fields.ts";
import { ArchiveFault, type HashedFile } from "./hashed-file.ts";

/** Enough for some hundred thousand entries. The directory is in memory while the archive is read. */
const MAX_DIRECTORY_BYTES = 16 * 1024 * 1024;

const ENTRY_SIGNATURE = 0x02014b50;
const ENTRY_BYTES = 46;

/** The end record, the zip64 record and its locator. */
const END_SIGNATURES = ["PK\x05\x06", "PK\x06\x06", "PK\x06\x07"];

/** One entry as the directory describes it. */
export interface Entry {
  readonly name: Buffer;
  /** A second name, which some readers use instead. */
  readonly unicodePath: Buffer | undefined;
  /** The version of the format that a reader must know, times ten: 20 for deflate. */
  readonly neededVersion: number;
  readonly flags: number;
  readonly method: number;
  readonly crc32: number;
  readonly compressedSize: number;
  readonly uncompressedSize: number;
  readonly externalAttributes: number;
  /** Position of its local header in the file. */
  readonly offset: number;
}

export interface Directory extends DirectoryBounds {
  readonly bytes: Buffer;
}

/** Finds the directory and reads its bytes. */
export function* readDirectory(archive: HashedFile): Generator<void, Directory> {
  const { size } = archive;
  const tailStart = Math.max(0, size - LONGEST_END);
  const tail = yield* archive.peek(tailStart, size - tailStart);
  const bounds = directoryBounds(tail, tailStart);
  const { start, end } = bounds;
  if (end - start > MAX_DIRECTORY_BYTES) throw new ArchiveFault("its directory is too large");
  const bytes =
    start >= tailStart
      ? tail.subarray(start - tailStart, end - tailStart)
      : yield* archive.peek(start, end - start);
  for (const signature of END_SIGNATURES) {
    // A reader that takes the first record it finds would find it in a name or a comment.
    if (bytes.includes(signature, 0, "latin1")) throw new ArchiveFault("its directory holds an end record");
    yield;
  }
  return { ...bounds, bytes };
}

/** @throws ArchiveFault if their number or their length differs from the end record's */
export function* entriesOf({ bytes, entries }: Directory): Generator<Entry> {
  let at = 0;
  for (let count = 0; count < entries; count++) {
    if (at + ENTRY_BYTES > bytes.length || bytes.readUInt32LE(at) !== ENTRY_SIGNATURE) throw broken();
    const nameEnd = at + ENTRY_BYTES + bytes.readUInt16LE(at + 28);
    const extraEnd = nameEnd + bytes.readUInt16LE(at + 30);
    const end = extraEnd + bytes.readUInt16LE(at + 32);
    if (end > bytes.length) throw broken();
    yield readEntry(bytes, at, bytes.subarray(at + ENTRY_BYTES, nameEnd), bytes.subarray(nameEnd, extraEnd));
    at = end;
  }
  if (at !== bytes.length) throw broken();
}

function readEntry(bytes: Buffer, at: number, name: Buffer, extra: Buffer): Entry {
  const { zip64, unicodePath } = readExtraFields(extra);
  const numbers = [24, 20, 42].map((field) => bytes.readUInt32LE(at + field));
  const [uncompressedSize = 0, compressedSize = 0, offset = 0] = resolveZip64(numbers, zip64, {
    disk: bytes.readUInt16LE(at + 34),
  });
  return {
    name,
    unicodePath,
    neededVersion: bytes.readUInt8(at + 6),
    flags: bytes.readUInt16LE(at + 8),
    method: bytes.readUInt16LE(at + 10),
    crc32: bytes.readUInt32LE(at + 16),
    compressedSize,
    uncompressedSize,
    externalAttributes: bytes.readUInt32LE(at + 38),
    offset,
  };
}

function broken(): ArchiveFault {
  return new ArchiveFault("its end record does not describe its directory");
}
