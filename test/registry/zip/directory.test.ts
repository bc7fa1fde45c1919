import { describe, expect, test } from "bun:test";
import { type Directory, type Entry, entriesOf, readDirectory } from "../../../src/registry/zip/directory.ts";
import { atOnce } from "../../../src/slices.ts";
import { STORED, type ZipEnd, type ZipEntry, zipBytes } from "../../kit/zip-bytes.ts";
import { withFile } from "./held-file.ts";

const directoryOf = (archive: Uint8Array): Directory =>
  withFile(archive, (file) => atOnce(readDirectory(file)));
const entries = (list: readonly ZipEntry[], end: ZipEnd = {}): Entry[] => [
  ...entriesOf(directoryOf(zipBytes(list, end))),
];

const LIES = "its end record does not describe its directory";
const ONE: ZipEntry = { name: "one", content: "1" };

function zip64(...values: number[]): Buffer {
  const field = Buffer.alloc(4 + 8 * values.length);
  field.writeUInt16LE(1, 0);
  field.writeUInt16LE(8 * values.length, 2);
  values.forEach((value, index) => {
    field.writeBigUInt64LE(BigInt(value), 4 + 8 * index);
  });
  return field;
}

describe("a directory's entries", () => {
  test("are read field by field", () => {
    const unicodePath = Buffer.from("\x75\x70\x09\x0012345path", "latin1");
    const [one, two, ...others] = entries([
      {
        name: "one",
        content: "a text",
        method: STORED,
        crc: 77,
        attributes: 0x81a40000,
        host: 3,
        neededVersion: 0x32d,
      },
      {
        name: "two",
        method: 12,
        flags: 8,
        crc: 5,
        packed: Buffer.alloc(9),
        uncompressedSize: 11,
        extra: unicodePath,
        offset: 1234,
      },
    ]);
    expect(others).toEqual([]);
    expect(one).toEqual({
      name: Buffer.from("one"),
      unicodePath: undefined,
      neededVersion: 45,
      flags: 0,
      method: STORED,
      crc32: 77,
      compressedSize: 6,
      uncompressedSize: 6,
      externalAttributes: 0x81a40000,
      offset: 0,
    });
    expect(two).toEqual({
      name: Buffer.from("two"),
      unicodePath: Buffer.from("path"),
      neededVersion: 20,
      flags: 8,
      method: 12,
      crc32: 5,
      compressedSize: 9,
      uncompressedSize: 11,
      externalAttributes: 0,
      offset: 1234,
    });
  });

  test("take their large numbers from the zip64 field: size, packed size, offset", () => {
    const left = { compressedSize: 0xffffffff, uncompressedSize: 0xffffffff, offset: 0xffffffff };
    const [large] = entries([{ name: "large", ...left, extra: zip64(2 ** 33, 2 ** 34, 2 ** 35) }]);
    expect(large).toMatchObject({
      uncompressedSize: 2 ** 33,
      compressedSize: 2 ** 34,
      offset: 2 ** 35,
    });
  });

  test("fill the directory, and their number is the one that it says", () => {
    expect(entries([])).toEqual([]);
    expect(entries([ONE, ONE])).toHaveLength(2);
    expect(() => entries([ONE, ONE], { entries: 1 })).toThrow(LIES);
    expect(() => entries([ONE, ONE], { entries: 3 })).toThrow(LIES);
  });

  test("each begin with a signature and end within the directory", () => {
    const [start, end] = [100, 100 + 46 + 3];
    const bytes = zipBytes([ONE]);
    const directory = directoryOf(bytes);
    const changed = (at: number, value: number) => {
      const other = Buffer.from(directory.bytes);
      other.writeUInt8(value, at);
      return () => [...entriesOf({ start, end, entries: 1, bytes: other })];
    };
    expect(changed(0, 0x50)()).toHaveLength(1);
    expect(changed(0, 0x51)).toThrow(LIES);
    // The lengths of the name, the extra fields and the comment.
    for (const field of [28, 30, 32]) expect(changed(field, 4)).toThrow(LIES);
    expect(changed(28, 2)).toThrow(LIES);
    const short = { start, end, entries: 1, bytes: directory.bytes.subarray(0, 45) };
    expect(() => [...entriesOf(short)]).toThrow(LIES);
  });

  test("may have a comment, and may lack a name", () => {
    const { bytes } = directoryOf(zipBytes([{ name: "" }]));
    const commented = Buffer.concat([bytes, Buffer.from("comment")]);
    commented.writeUInt16LE(7, 32);
    const nameless = { start: 0, end: 0, entries: 2, bytes: Buffer.concat([bytes, bytes]) };
    expect([...entriesOf(nameless)]).toHaveLength(2);
    const twice = { start: 0, end: 0, entries: 2, bytes: Buffer.concat([commented, commented]) };
    expect([...entriesOf(twice)].map(({ name }) => name.length)).toEqual([0, 0]);
  });

  test("are all on one disk, unless zip64 holds the disk's number", () => {
    const first = Buffer.from([1, 0, 4, 0, 0, 0, 0, 0]);
    expect(entries([{ ...ONE, disk: 0xffff, extra: first }])).toHaveLength(1);
    for (const disk of [1, 0xfffe, 0x100, 0xffff]) {
      expect(() => entries([{ ...ONE, disk }])).toThrow("it is one part of several");
    }
  });
});

describe("a directory", () => {
  test("is read at any position: within the last bytes, or across their beginning", () => {
    const many = Array.from({ length: 2000 }, (_, index) => ({ name: `file-${index}`, method: STORED }));
    const comment = "c".repeat(65_535);
    const names = (list: readonly ZipEntry[], end: ZipEnd) =>
      entries(list, end).map(({ name }) => name.toString());
    expect(names(many, {})).toEqual(many.map(({ name }) => name));
    expect(names(many, { comment })).toEqual(many.map(({ name }) => name));
    const padded = Buffer.concat([
      zipBytes([ONE], { comment, prefix: Buffer.alloc(4096, 1) }),
      Buffer.alloc(10_239),
    ]);
    expect([...entriesOf(directoryOf(padded))].map(({ name }) => name.toString())).toEqual(["one"]);
  });

  test("holds no signature of an end record, in a name, an extra field or a checksum", () => {
    const fault = "its directory holds an end record";
    for (const signature of ["PK\x05\x06", "PK\x06\x06", "PK\x06\x07"]) {
      expect(() => entries([{ name: `x${signature}` }])).toThrow(fault);
      const extra = Buffer.from(`\x09\0\x04\0${signature}`);
      expect(() => entries([ONE, { ...ONE, extra }])).toThrow(fault);
      expect(() => entries([{ ...ONE, crc: Buffer.from(signature).readUInt32LE() }])).toThrow(fault);
    }
    expect(entries([{ name: "PK\x05 PK\x06 PK\x05\x07" }])).toHaveLength(1);
  });

  test("is at most 16 MiB long, at any position", () => {
    const far = zipBytes([{ ...ONE, method: STORED, content: Buffer.alloc(9 * 1024 * 1024) }]);
    expect(directoryOf(far).entries).toBe(1);
    const LIMIT = 16 * 1024 * 1024;
    const archive = (length: number) => {
      const end = zipBytes([], { size: length, offset: 0 });
      return Buffer.concat([Buffer.alloc(length), end]);
    };
    expect(directoryOf(archive(LIMIT)).bytes).toHaveLength(LIMIT);
    expect(() => directoryOf(archive(LIMIT + 1))).toThrow("its directory is too large");
  });
});
