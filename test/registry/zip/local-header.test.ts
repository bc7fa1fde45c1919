import { describe, expect, test } from "bun:test";
import type { Entry } from "../../../src/registry/zip/directory.ts";
import {
  describesSameData,
  hasOneSizeIfStored,
  LOCAL_BYTES,
  type LocalHeader,
  takeLocalHeader,
} from "../../../src/registry/zip/local-header.ts";
import { atOnce } from "../../../src/slices.ts";
import { zipBytes } from "../../kit/zip-bytes.ts";
import { withFile } from "./held-file.ts";

function headerOf(archive: Uint8Array) {
  return withFile(archive, (file) => ({ ...atOnce(takeLocalHeader(file)), stopsAt: file.position }));
}

describe("a local header", () => {
  test("is read field by field, up to its data", () => {
    const extra = Buffer.from("\x75\x70\x09\x0012345path", "latin1");
    const local = { extra, method: 3, flags: 9, crc: 7, compressedSize: 11, uncompressedSize: 13 };
    expect(LOCAL_BYTES).toBe(30);
    expect(headerOf(zipBytes([{ name: "name", content: "x", local }]))).toEqual({
      name: Buffer.from("name"),
      unicodePath: Buffer.from("path"),
      flags: 9,
      method: 3,
      crc32: 7,
      compressedSize: 11,
      uncompressedSize: 13,
      stopsAt: 30 + 4 + 13,
    });
  });

  test("takes large numbers from its zip64 field: size, packed size", () => {
    const extra = Buffer.alloc(20);
    extra.writeUInt16LE(1, 0);
    extra.writeUInt16LE(16, 2);
    extra.writeBigUInt64LE(2n ** 33n, 4);
    extra.writeBigUInt64LE(2n ** 34n, 12);
    const local = { extra, compressedSize: 0xffffffff, uncompressedSize: 0xffffffff };
    expect(headerOf(zipBytes([{ name: "n", local }]))).toMatchObject({
      uncompressedSize: 2 ** 33,
      compressedSize: 2 ** 34,
    });
  });

  test("begins with its signature and is complete", () => {
    const archive = zipBytes([{ name: "n" }]);
    archive.writeUInt8(0x51, 0);
    expect(() => headerOf(archive)).toThrow("one of its entries is not where the directory says");
    expect(() => headerOf(zipBytes([{ name: "n" }]).subarray(0, 29))).toThrow("it is truncated");
    expect(() => headerOf(zipBytes([{ name: "n" }]).subarray(0, 30))).toThrow("it is truncated");
  });
});

describe("a local header describes the data as the directory does", () => {
  const entry = { flags: 0, method: 8, crc32: 5, compressedSize: 6, uncompressedSize: 7 } as Entry;
  const same = (header: Partial<LocalHeader>, of: Partial<Entry> = {}) =>
    describesSameData({ ...entry, ...header } as LocalHeader, { ...entry, ...of });

  test("if it agrees on every field that decides how the data is read", () => {
    expect(same({})).toBe(true);
    for (const field of ["method", "crc32", "compressedSize", "uncompressedSize"] as const) {
      expect(same({ [field]: 9 })).toBe(false);
      expect(same({}, { [field]: 9 })).toBe(false);
    }
    // Encrypted, with a data descriptor, strongly encrypted.
    for (const flags of [0x1, 0x8, 0x40]) {
      expect(same({ flags })).toBe(false);
      expect(same({}, { flags })).toBe(false);
      expect(same({ flags }, { flags })).toBe(true);
    }
    // How well it was packed, and that its name is UTF-8.
    for (const flags of [0x2, 0x4, 0x10, 0x20, 0x800]) expect(same({ flags })).toBe(true);
  });

  test("and may hold a zero for what a data descriptor says", () => {
    for (const field of ["crc32", "compressedSize", "uncompressedSize"] as const) {
      expect(same({ [field]: 0 })).toBe(false);
      expect(same({ [field]: 0, flags: 8 }, { flags: 8 })).toBe(true);
      expect(same({ [field]: 1, flags: 8 }, { flags: 8 })).toBe(false);
      expect(same({ [field]: 0, flags: 1 }, { flags: 1 })).toBe(false);
    }
  });
});

test("data that is stored as it is has one size, unless it is encrypted", () => {
  const header = { flags: 0, method: 0, compressedSize: 6, uncompressedSize: 6 } as LocalHeader;
  expect(hasOneSizeIfStored(header)).toBe(true);
  for (const uncompressedSize of [0, 5, 7]) {
    // A reader may take data for encrypted by the first of the two bits alone.
    for (const flags of [0, 0x8, 0x40, 0x800]) {
      expect(hasOneSizeIfStored({ ...header, flags, uncompressedSize })).toBe(false);
    }
    expect(hasOneSizeIfStored({ ...header, flags: 0x1, uncompressedSize })).toBe(true);
    expect(hasOneSizeIfStored({ ...header, method: 8, uncompressedSize })).toBe(true);
  }
});
