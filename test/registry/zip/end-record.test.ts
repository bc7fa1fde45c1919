import { describe, expect, test } from "bun:test";
import { directoryBounds, LONGEST_END } from "../../../src/registry/zip/end-record.ts";

interface Fields {
  readonly disk?: number;
  readonly directoryDisk?: number;
  readonly entriesHere?: number;
  readonly entries?: number;
  readonly length?: number;
  readonly start?: number;
}

/** A directory of 50 bytes that starts at 100, with 7 entries. */
const TRUE = { disk: 0, directoryDisk: 0, entriesHere: 7, entries: 7, length: 50, start: 100 };
const DIRECTORY = Buffer.alloc(50, 1);
const BEFORE = Buffer.alloc(100, 1);

function endRecord(fields: Fields = {}, commentLength = 0): Buffer {
  const { disk, directoryDisk, entriesHere, entries, length, start } = { ...TRUE, ...fields };
  const record = Buffer.alloc(22);
  record.write("PK\x05\x06", "latin1");
  record.writeUInt16LE(disk, 4);
  record.writeUInt16LE(directoryDisk, 6);
  record.writeUInt16LE(entriesHere, 8);
  record.writeUInt16LE(entries, 10);
  record.writeUInt32LE(length, 12);
  record.writeUInt32LE(start, 16);
  record.writeUInt16LE(commentLength, 20);
  return record;
}

function zip64Record(fields: Fields = {}, signature = 0x06064b50, size = 44n): Buffer {
  const { disk, directoryDisk, entriesHere, entries, length, start } = { ...TRUE, ...fields };
  const record = Buffer.alloc(56);
  record.writeUInt32LE(signature, 0);
  record.writeBigUInt64LE(size, 4);
  record.writeUInt32LE(disk, 16);
  record.writeUInt32LE(directoryDisk, 20);
  record.writeBigUInt64LE(BigInt(entriesHere), 24);
  record.writeBigUInt64LE(BigInt(entries), 32);
  record.writeBigUInt64LE(BigInt(length), 40);
  record.writeBigUInt64LE(BigInt(start), 48);
  return record;
}

function locator({ signature = 0x07064b50, disk = 0, position = 150, disks = 1 } = {}): Buffer {
  const bytes = Buffer.alloc(20);
  bytes.writeUInt32LE(signature, 0);
  bytes.writeUInt32LE(disk, 4);
  bytes.writeBigUInt64LE(BigInt(position), 8);
  bytes.writeUInt32LE(disks, 16);
  return bytes;
}

/** What is read from an archive with this end. A reader of all its bytes and one of the last bytes must agree. */
function read(...end: readonly Uint8Array[]): unknown {
  const archive = Buffer.concat([BEFORE, DIRECTORY, ...end]);
  const answers = [0, 100].map((tailStart) => {
    try {
      return directoryBounds(archive.subarray(tailStart), tailStart);
    } catch (error) {
      return error instanceof Error ? error.message : error;
    }
  });
  expect(answers[1]).toEqual(answers[0]);
  return answers[0];
}

const BOUNDS = { start: 100, end: 150, entries: 7 };
const NOT_WHOLE = "it is not a whole ZIP archive";
const LIES = "its end record does not describe its directory";
const PARTS = "it is one part of several";

/** What a record may lie about, and what is said of the archive then. */
const LIARS: readonly (readonly [what: string, lie: Fields, fault: string])[] = [
  ["disk", { disk: 1 }, PARTS],
  ["disk that holds the directory", { directoryDisk: 1 }, PARTS],
  ["number of entries on this disk", { entriesHere: 6 }, LIES],
  ["number of entries", { entries: 8 }, LIES],
  ["length", { length: 49 }, LIES],
  ["start, which it puts too late", { start: 101 }, LIES],
  ["start, which it puts too early", { start: 99 }, LIES],
];

describe("an end record", () => {
  test("says where the directory lies", () => {
    expect(read(endRecord())).toEqual(BOUNDS);
  });

  test.each(LIARS)("that lies about its %s is refused", (_, fields, fault) => {
    expect(read(endRecord(fields))).toBe(fault);
  });

  test("comes right after the directory", () => {
    expect(read(Buffer.alloc(1), endRecord())).toBe(LIES);
  });

  test("is the last one in the file, even if the directory contains bytes that look like one", () => {
    expect(read(endRecord(), endRecord({ length: 72 }))).toEqual({ ...BOUNDS, end: 172 });
    expect(read(endRecord({}, 4), Buffer.from("PK\x05\x06", "latin1"))).toBe(NOT_WHOLE);
  });

  test("must exist and be complete", () => {
    expect(read()).toBe(NOT_WHOLE);
    expect(() => directoryBounds(Buffer.alloc(21), 0)).toThrow(NOT_WHOLE);
    expect(read(endRecord().subarray(0, 21))).toBe(NOT_WHOLE);
  });

  test("is followed only by its comment and by zeros up to the end of a tape block", () => {
    const comment = Buffer.from("comment");
    expect(read(endRecord({}, 7), comment)).toEqual(BOUNDS);
    expect(read(endRecord({}, 8), comment)).toBe(NOT_WHOLE);
    expect(read(endRecord({}, 6), comment)).toBe(NOT_WHOLE);
    expect(read(endRecord({}, 7), comment, Buffer.alloc(10_239))).toEqual(BOUNDS);
    expect(read(endRecord({}, 7), comment, Buffer.alloc(10_240))).toBe(NOT_WHOLE);
    expect(read(endRecord(), Buffer.from([0, 0, 1]))).toBe(NOT_WHOLE);
  });

  test("is searched for in the longest possible end of an archive", () => {
    expect(LONGEST_END).toBe(56 + 20 + 22 + 65_535 + 10_239);
  });
});

/** A zip64 record at 150, its locator, and an end record that leaves everything to it. */
const LEFT = {
  disk: 0xffff,
  directoryDisk: 0xffff,
  entriesHere: 0xffff,
  entries: 0xffff,
  length: 0xffffffff,
  start: 0xffffffff,
};

describe("a zip64 record", () => {
  test("supplies the fields that the end record leaves out, or repeats them", () => {
    expect(read(zip64Record(), locator(), endRecord(LEFT))).toEqual(BOUNDS);
    expect(read(zip64Record(), locator(), endRecord())).toEqual(BOUNDS);
  });

  test.each(Object.keys(TRUE) as (keyof Fields)[])("and the end record must agree on the %s", (field) => {
    expect(read(zip64Record(), locator(), endRecord({ ...LEFT, [field]: TRUE[field] }))).toEqual(BOUNDS);
    expect(read(zip64Record(), locator(), endRecord({ ...LEFT, [field]: TRUE[field] + 1 }))).toBe(LIES);
  });

  test.each(LIARS)("that lies about its %s is refused", (_, fields, fault) => {
    expect(read(zip64Record(fields), locator(), endRecord(LEFT))).toBe(fault);
  });

  test("has its own signature and its own length, without extensions", () => {
    expect(read(zip64Record({}, 0x06064b51), locator(), endRecord(LEFT))).toBe(LIES);
    expect(read(zip64Record({}, undefined, 45n), locator(), endRecord(LEFT))).toBe(LIES);
    expect(read(zip64Record({}, undefined, 56n), locator(), endRecord(LEFT))).toBe(LIES);
  });

  test("is where the locator says, on the only disk", () => {
    for (const lie of [{ disk: 1 }, { position: 149 }, { position: 151 }, { disks: 0 }, { disks: 2 }]) {
      expect(read(zip64Record(), locator(lie), endRecord(LEFT))).toBe(LIES);
      expect(read(zip64Record(), locator(lie), endRecord())).toBe(LIES);
    }
  });

  test("is not searched for without a locator, and then every field comes from the end record", () => {
    const other = locator({ signature: 0x07064b51 });
    expect(read(zip64Record(), other, endRecord(LEFT))).toBe(PARTS);
    expect(read(zip64Record(), other, endRecord({ length: 126 }))).toEqual({ ...BOUNDS, end: 226 });
  });

  test("must exist if its locator does, even at the very start of an archive", () => {
    const alone = Buffer.concat([locator({ position: 0 }), endRecord({ length: 0, start: 20 })]);
    expect(() => directoryBounds(alone, 0)).toThrow(LIES);
    const empty = { entriesHere: 0, entries: 0, length: 0, start: 0 };
    const whole = Buffer.concat([zip64Record(empty), locator({ position: 0 }), endRecord(empty)]);
    expect(directoryBounds(whole, 0)).toEqual({ start: 0, end: 0, entries: 0 });
    const short = Buffer.concat([locator().subarray(1), endRecord({ length: 0, start: 19 })]);
    expect(directoryBounds(short, 0)).toMatchObject({ start: 19, end: 19 });
    const located = Buffer.concat([locator({ position: 0 }), endRecord({ length: 0, start: 20 })]);
    expect(() => directoryBounds(located, 0)).toThrow(LIES);
  });
});
