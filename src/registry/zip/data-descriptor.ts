/** What stands behind the data of an entry whose archiver did not know its sizes and checksum beforehand: those, once more. */

import type { Entry } from "./directory.ts";
import { FLAG_DATA_DESCRIPTOR } from "./local-header.ts";

const SIGNATURE = Buffer.from("PK\x07\x08", "latin1");

/** A signature, a checksum and two sizes of 64 bits. */
export const LONGEST_DESCRIPTOR = 24;

/** Whether these bytes are all that may follow the data of the entry: its descriptor, or nothing where it has none. */
export function endsEntry(bytes: Buffer, entry: Entry): boolean {
  if ((entry.flags & FLAG_DATA_DESCRIPTOR) === 0) return bytes.length === 0;
  return [true, false].some((isLong) => {
    const numbers = numbersOf(entry, isLong);
    // The signature may be left out.
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
    // A size beyond 32 bits has no short form: what is left of it equals none that an archiver wrote.
    bytes.writeUInt32LE(compressedSize % 2 ** 32, 4);
    bytes.writeUInt32LE(uncompressedSize % 2 ** 32, 8);
  }
  return bytes;
}
