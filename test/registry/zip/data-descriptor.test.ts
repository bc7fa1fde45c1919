import { expect, test } from "bun:test";
import type { Entry } from "../../../src/registry/zip/directory.ts";
import { endsEntry, LONGEST_DESCRIPTOR } from "../../../src/registry/zip/local-header.ts";

const entry = { flags: 8, crc32: 0xfedcba98, compressedSize: 5, uncompressedSize: 7 } as Entry;
const SIGNATURE = Buffer.from("PK\x07\x08", "latin1");

function descriptor({ crc32, compressedSize, uncompressedSize }: Entry, isLong: boolean): Buffer {
  const sizes = [compressedSize, uncompressedSize].map((size) => {
    const bytes = Buffer.alloc(8);
    bytes.writeBigUInt64LE(BigInt(size));
    return bytes.subarray(0, isLong ? 8 : 4);
  });
  const checksum = Buffer.alloc(4);
  checksum.writeUInt32LE(crc32);
  return Buffer.concat([checksum, ...sizes]);
}

test("an entry whose sizes were not known before is followed by them, short or long, with a signature or without", () => {
  for (const isLong of [false, true]) {
    const numbers = descriptor(entry, isLong);
    expect(endsEntry(numbers, entry)).toBe(true);
    expect(endsEntry(Buffer.concat([SIGNATURE, numbers]), entry)).toBe(true);
    expect(endsEntry(Buffer.concat([numbers, SIGNATURE]), entry)).toBe(false);
    expect(endsEntry(numbers.subarray(1), entry)).toBe(false);
    for (const field of ["crc32", "compressedSize", "uncompressedSize"] as const) {
      expect(endsEntry(descriptor({ ...entry, [field]: 6 }, isLong), entry)).toBe(false);
    }
  }
  expect(endsEntry(Buffer.alloc(0), entry)).toBe(false);
  expect(LONGEST_DESCRIPTOR).toBe(4 + 4 + 8 + 8);
});

test("sizes beyond 32 bits need a long data descriptor", () => {
  const large = { ...entry, compressedSize: 2 ** 32 + 5, uncompressedSize: 2 ** 33 + 7 };
  expect(endsEntry(descriptor(large, true), large)).toBe(true);
  expect(endsEntry(descriptor(entry, true), large)).toBe(false);
});

test("no data descriptor follows any other entry", () => {
  for (const flags of [0, 1, 0x800]) {
    expect(endsEntry(Buffer.alloc(0), { ...entry, flags })).toBe(true);
    expect(endsEntry(descriptor(entry, false), { ...entry, flags })).toBe(false);
  }
  expect(endsEntry(descriptor(entry, false), { ...entry, flags: 0x808 })).toBe(true);
});
