/**
 * The central directory of a ZIP archive: where it lies, and what it says lies before it. Readers differ in which fields
 * they trust and which end they count from, so all of them must say the same.
 */

import { type Entry, fromRandomAccessReaderPromise, type RandomAccessReader, type ZipFile } from "yauzl";
import { ArchiveFault, broken } from "./archive-fault.ts";

/** Entries looked at before the event loop is given a turn. */
const ENTRIES_PER_TURN = 500;

/** The placeholder of a size or a position that stands in a zip64 record. */
export const ZIP64_PLACEHOLDER = 0xffffffff;
const ZIP64_LOCATOR = 0x07064b50;

const DIRECTORY_LIES = "its end record does not describe its directory";

/** Positions of bytes, `end` exclusive. */
export interface Extent {
  readonly start: number;
  readonly end: number;
}

/** A directory whose every bound agrees, read to its end. */
export interface ZipDirectory {
  readonly zip: ZipFile;
  /** Where the directory starts: entries end before. */
  readonly start: number;
  /** The local header and the data of each entry; the local extra field is not counted. */
  readonly extents: readonly Extent[];
}

/**
 * Reads the directory of an archive of `size` bytes, entry by entry.
 *
 * @throws ArchiveFault where it is broken or its bounds disagree, or what `look` threw
 */
export async function readZipDirectory(
  reader: RandomAccessReader,
  size: number,
  look: (entry: Entry) => void,
): Promise<ZipDirectory> {
  const zip = await broken(
    fromRandomAccessReaderPromise(reader, size, { decodeStrings: false, autoClose: false }),
  );
  const bounds = await directoryBounds(reader, size, zip);
  const extents: Extent[] = [];
  let end = bounds.start;
  for await (const entry of entriesOf(zip)) {
    end += 46 + entry.fileNameLength + entry.extraFieldLength + entry.fileCommentLength;
    extents.push({
      start: entry.relativeOffsetOfLocalHeader,
      end: entry.relativeOffsetOfLocalHeader + 30 + entry.fileNameLength + entry.compressedSize,
    });
    look(entry);
  }
  if (end !== bounds.end) throw new ArchiveFault(DIRECTORY_LIES);
  return { zip, start: bounds.start, extents };
}

/** Whether the bytes of an entry are another's too, or the directory's. */
export function overlaps({ start, extents }: ZipDirectory, bytes: Extent): boolean {
  const sharing = extents.filter((other) => other.start < bytes.end && bytes.start < other.end);
  return sharing.length > 1 || bytes.end > start;
}

/** From where the directory starts to where the first end record does: the entries must fill exactly what lies between. */
async function directoryBounds(reader: RandomAccessReader, size: number, zip: ZipFile): Promise<Extent> {
  const endRecord = size - 22 - zip.comment.length;
  const record = await readBytes(reader, endRecord, 22);
  if (record.readUInt16LE(8) !== record.readUInt16LE(10)) throw new ArchiveFault(DIRECTORY_LIES);
  const counted = {
    entries: record.readUInt16LE(10),
    length: record.readUInt32LE(12),
    start: record.readUInt32LE(16),
  };
  const locator = endRecord >= 20 ? await readBytes(reader, endRecord - 20, 20) : Buffer.alloc(20);
  if (locator.readUInt32LE(0) !== ZIP64_LOCATOR) {
    if (counted.start + counted.length !== endRecord) throw new ArchiveFault(DIRECTORY_LIES);
    return { start: counted.start, end: endRecord };
  }
  const end = Number(locator.readBigUInt64LE(8));
  const zip64 = await readBytes(reader, end, 56);
  const [here, entries, length, start] = [24, 32, 40, 48].map((at) => Number(zip64.readBigUInt64LE(at)));
  const recordEnd = end + 12 + Number(zip64.readBigUInt64LE(4));
  const agreed =
    here === entries &&
    (counted.entries === entries || counted.entries === 0xffff) &&
    (counted.length === length || counted.length === ZIP64_PLACEHOLDER) &&
    (counted.start === start || counted.start === ZIP64_PLACEHOLDER);
  if (start === undefined || length === undefined || !agreed) throw new ArchiveFault(DIRECTORY_LIES);
  if (recordEnd !== endRecord - 20 || start + length !== end) throw new ArchiveFault(DIRECTORY_LIES);
  return { start, end };
}

async function* entriesOf(zip: ZipFile): AsyncGenerator<Entry> {
  let seen = 0;
  const entries = zip.eachEntry()[Symbol.asyncIterator]();
  for (;;) {
    const next = await broken(entries.next());
    if (next.done) return;
    yield next.value;
    if (++seen % ENTRIES_PER_TURN === 0) await new Promise((resume) => setImmediate(resume));
  }
}

export function readBytes(reader: RandomAccessReader, position: number, length: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const buffer = Buffer.alloc(length);
    reader.read(buffer, 0, length, position, (error) => (error ? reject(error) : resolve(buffer)));
  });
}
