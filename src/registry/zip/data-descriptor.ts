/** The data descriptor: sizes and checksum after an entry's data, from an archiver that did not know them before. */

import type { Entry } from "./directory.ts";
import { FLAG_DATA_DESCRIPTOR } from "./local-header.ts";

const SIGNATURE = Buffer.from("PK\x07\x08", "latin1");

/** A signature, a checksum and two sizes of 64 bits. */
export const LONGEST_DESCRIPTOR = 24;

/** Whether these bytes are exactly what must follow the entry's data: its descriptor, or nothing if it has none. */
export function endsEntry(bytes: Buffer, entry: Entry): boolean {
  if ((entry.flags & FLAG_DATA_DESCRIPTOR) === 0) return bytes.length === 0;
  return [true, false].some((isLong) => {
    const numbers = numbersOf(entry, isLong);
    // The signature is optional.
    return bytes.equals(numbers) || bytes.equals(Buffer.concat([SIGNATURE, numbers]));
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
