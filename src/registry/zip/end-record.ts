/**
 * The end of a ZIP archive, which says where its directory is.
 *
 * Readers differ in which end record they find and which of its fields they trust. So the last signature in the file
 * must be that of the record, only zeros may follow its comment, and all that the records say must agree.
 *
 * An ordinary archiver writes one end record, for one disk, right after the directory (and after a zip64 record without
 * extensions, if there is one). So its archives are never refused here.
 */

import { ArchiveFault } from "./hashed-file.ts";

const END_SIGNATURE = Buffer.from("PK\x05\x06", "latin1");
const END_BYTES = 22;
const LOCATOR_SIGNATURE = 0x07064b50;
const LOCATOR_BYTES = 20;
const ZIP64_SIGNATURE = 0x06064b50;
const ZIP64_BYTES = 56;

/** bsdtar pads its standard output to whole blocks of 10,240 bytes, as for a tape. */
const MAX_PADDING = 10_239;

/** The longest end of an archive: a zip64 record, its locator, the end record, a comment and padding. */
export const LONGEST_END = ZIP64_BYTES + LOCATOR_BYTES + END_BYTES + 0xffff + MAX_PADDING;

/** Where the directory is, as positions in the file. */
export interface DirectoryBounds {
  readonly start: number;
  /** Exclusive. */
  readonly end: number;
  readonly entries: number;
}

/**
 * Reads the end records.
 *
 * @param tail the last `LONGEST_END` bytes of the archive, or all of it
 * @param tailStart their position in the archive
 * @throws ArchiveFault
 */
export function directoryBounds(tail: Buffer, tailStart: number): DirectoryBounds {
  const at = tail.lastIndexOf(END_SIGNATURE);
  if (at === -1 || at + END_BYTES > tail.length || !endsWith(tail, at)) {
    throw new ArchiveFault("it is not a whole ZIP archive");
  }
  const record = {
    disk: tail.readUInt16LE(at + 4),
    directoryDisk: tail.readUInt16LE(at + 6),
    entriesHere: tail.readUInt16LE(at + 8),
    entries: tail.readUInt16LE(at + 10),
    length: tail.readUInt32LE(at + 12),
    start: tail.readUInt32LE(at + 16),
  };
  const large = zip64Record(tail, tailStart, at);
  if (!large) return agreed(record, tailStart + at);
  for (const field of ["disk", "directoryDisk", "entriesHere", "entries"] as const) {
    if (record[field] !== 0xffff && record[field] !== large.record[field]) throw new ArchiveFault(LIES);
  }
  for (const field of ["length", "start"] as const) {
    if (record[field] !== 0xffffffff && record[field] !== large.record[field]) throw new ArchiveFault(LIES);
  }
  return agreed(large.record, large.position);
}

/** Whether the archive ends with the comment of the record at `at` and padding zeros. */
function endsWith(tail: Buffer, at: number): boolean {
  const end = at + END_BYTES + tail.readUInt16LE(at + 20);
  return (
    end <= tail.length && tail.length - end <= MAX_PADDING && tail.subarray(end).every((byte) => byte === 0)
  );
}

const LIES = "its end record does not describe its directory";

interface EndRecord {
  readonly disk: number;
  readonly directoryDisk: number;
  readonly entriesHere: number;
  readonly entries: number;
  readonly length: number;
  readonly start: number;
}

/** The directory must fill the space between its start and the first end record. */
function agreed(record: EndRecord, position: number): DirectoryBounds {
  const { disk, directoryDisk, entriesHere, entries, length, start } = record;
  if (disk !== 0 || directoryDisk !== 0) throw new ArchiveFault("it is one part of several");
  if (entriesHere !== entries || start + length !== position) throw new ArchiveFault(LIES);
  return { start, end: position, entries };
}

/** The zip64 record, if a locator precedes the end record. Some readers look for one whatever the fields say. */
function zip64Record(
  tail: Buffer,
  tailStart: number,
  end: number,
): { readonly record: EndRecord; readonly position: number } | undefined {
  const locator = end - LOCATOR_BYTES;
  if (locator < 0 || tail.readUInt32LE(locator) !== LOCATOR_SIGNATURE) return undefined;
  const at = locator - ZIP64_BYTES;
  const isHere =
    at >= 0 &&
    tail.readUInt32LE(at) === ZIP64_SIGNATURE &&
    // The record's size does not include its first twelve bytes.
    tail.readBigUInt64LE(at + 4) === BigInt(ZIP64_BYTES - 12) &&
    tail.readUInt32LE(locator + 4) === 0 &&
    tail.readBigUInt64LE(locator + 8) === BigInt(tailStart + at) &&
    tail.readUInt32LE(locator + 16) === 1;
  if (!isHere) throw new ArchiveFault(LIES);
  const number = (offset: number) => Number(tail.readBigUInt64LE(at + offset));
  return {
    position: tailStart + at,
    record: {
      disk: tail.readUInt32LE(at + 16),
      directoryDisk: tail.readUInt32LE(at + 20),
      entriesHere: number(24),
      entries: number(32),
      length: number(40),
      start: number(48),
    },
  };
}
