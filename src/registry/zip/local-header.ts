/**
 * What stands around the data of an entry: its header, and behind it perhaps a data descriptor, with the sizes and the checksum
 * from an archiver that did not know them before. Some readers use these instead of the directory, so they must agree with it.
 */

import type { Entry } from "./directory.ts";
import { readExtraFields, resolveZip64 } from "./extra-fields.ts";
import { ArchiveFault, type HashedFile } from "./hashed-file.ts";

export const LOCAL_SIGNATURE = Buffer.from("PK\x03\x04", "latin1");
/** The part of fixed length. */
export const LOCAL_BYTES = 30;

/** The sizes and the checksum follow the data: the archiver did not know them when it wrote the header. */
export const FLAG_DATA_DESCRIPTOR = 0x8;
const FLAG_ENCRYPTED = 0x1;
/** Encrypted, data descriptor, strongly encrypted: the flags that decide how the data is read. */
const FLAGS_OF_DATA = FLAG_ENCRYPTED | FLAG_DATA_DESCRIPTOR | 0x40;

export interface LocalHeader {
  readonly name: Buffer;
  readonly unicodePath: Buffer | undefined;
  readonly flags: number;
  readonly method: number;
  readonly crc32: number;
  readonly compressedSize: number;
  readonly uncompressedSize: number;
}

/** Reads the header at the archive's position, up to the data. */
export function* takeLocalHeader(archive: HashedFile): Generator<void, LocalHeader> {
  const fixed = yield* archive.take(LOCAL_BYTES);
  if (!fixed.subarray(0, LOCAL_SIGNATURE.length).equals(LOCAL_SIGNATURE)) {
    throw new ArchiveFault("one of its entries is not where the directory says");
  }
  const nameLength = fixed.readUInt16LE(26);
  const rest = yield* archive.take(nameLength + fixed.readUInt16LE(28));
  const { zip64, unicodePath } = readExtraFields(rest.subarray(nameLength));
  const numbers = [fixed.readUInt32LE(22), fixed.readUInt32LE(18)];
  const flags = fixed.readUInt16LE(6);
  const areUnknown = (flags & FLAG_DATA_DESCRIPTOR) !== 0;
  const [uncompressedSize = 0, compressedSize = 0] = resolveZip64(numbers, zip64, { areUnknown });
  return {
    name: rest.subarray(0, nameLength),
    unicodePath,
    flags,
    method: fixed.readUInt16LE(8),
    crc32: fixed.readUInt32LE(14),
    compressedSize,
    uncompressedSize,
  };
}

/** Whether the header describes the data as the directory does. */
export function describesSameData(header: LocalHeader, entry: Entry): boolean {
  if (header.method !== entry.method || (header.flags ^ entry.flags) & FLAGS_OF_DATA) return false;
  // An archiver that does not know a number yet writes a zero.
  const isUnknown = (number: number) => (header.flags & FLAG_DATA_DESCRIPTOR) !== 0 && number === 0;
  return (["crc32", "compressedSize", "uncompressedSize"] as const).every(
    (field) => header[field] === entry[field] || isUnknown(header[field]),
  );
}

/** The method of data that is not packed. */
export const STORED = 0;

/**
 * Whether data that is stored as it is has one size. Java's reader of streams ends it after the unpacked size, and goes on to
 * a header inside of what is one entry to all others. Encryption adds some bytes, and that reader refuses it.
 *
 * An ordinary archiver writes the same size twice. So its archives are not refused by this.
 */
export function hasOneSizeIfStored(header: LocalHeader): boolean {
  const isPlain = header.method === STORED && (header.flags & FLAG_ENCRYPTED) === 0;
  return !isPlain || header.compressedSize === header.uncompressedSize;
}

const DESCRIPTOR_SIGNATURE = Buffer.from("PK\x07\x08", "latin1");

/** A signature, a checksum and two sizes of 64 bits. */
export const LONGEST_DESCRIPTOR = 24;

/** Whether these bytes are exactly what must follow the entry's data: its descriptor, or nothing if it has none. */
export function endsEntry(bytes: Buffer, entry: Entry): boolean {
  if ((entry.flags & FLAG_DATA_DESCRIPTOR) === 0) return bytes.length === 0;
  return [true, false].some((isLong) => {
    const numbers = numbersOf(entry, isLong);
    // The signature is optional.
    return bytes.equals(numbers) || bytes.equals(Buffer.concat([DESCRIPTOR_SIGNATURE, numbers]));
  });
}

function numbersOf({ crc32, compressedSize, uncompressedSize }: Entry, isLong: boolean): Buffer {
  const bytes = Buffer.alloc(isLong ? 20 : 12);
  bytes.writeUInt32LE(crc32, 0);
  if (isLong) {
    bytes.writeBigUInt64LE(BigInt(compressedSize), 4);
    bytes.writeBigUInt64LE(BigInt.asUintN(64, BigInt(uncompressedSize)), 12);
  } else {
    // A size over 32 bits has no short form. Its lowest 32 bits never match a descriptor that an archiver wrote.
    bytes.writeUInt32LE(compressedSize % 2 ** 32, 4);
    bytes.writeUInt32LE(uncompressedSize % 2 ** 32, 8);
  }
  return bytes;
}
