import { describe, expect, test } from "bun:test";
import { crc32, deflateRawSync } from "node:zlib";
import { MAX_MANIFEST_BYTES } from "../../../src/registry/manifest.ts";
import type { Entry } from "../../../src/registry/zip/directory.ts";
import { checkManifestEntry, unpackManifest } from "../../../src/registry/zip/manifest-entry.ts";

const TEXT = Buffer.from("name: a\nversion: 0.1.0\n");
const PACKED = deflateRawSync(TEXT);
const STORED = 0;
const DEFLATED = 8;

function entryOf(fields: Partial<Entry> = {}): Entry {
  return {
    name: Buffer.from("murmur.yaml"),
    unicodePath: undefined,
    neededVersion: 20,
    flags: 0,
    method: DEFLATED,
    crc32: crc32(TEXT),
    compressedSize: PACKED.length,
    uncompressedSize: TEXT.length,
    externalAttributes: 0,
    offset: 0,
    ...fields,
  };
}

const NO_FILE = "its murmur.yaml is a directory, a link or a label";

const check = (fields: Partial<Entry>) => () => checkManifestEntry(entryOf(fields));

describe("the manifest's entry", () => {
  test("is a file by its Unix type: none, a pipe that was read, a regular file", () => {
    for (const type of [0, 0o010000, 0o100000, 0o100755]) {
      expect(check({ externalAttributes: type * 65_536 })).not.toThrow();
    }
    for (const type of [0o020000, 0o040000, 0o060000, 0o120000, 0o140000, 0o110000]) {
      expect(check({ externalAttributes: type * 65_536 })).toThrow(NO_FILE);
    }
  });

  test("has none of the bits that are a type on an Amiga", () => {
    expect(check({ externalAttributes: 0o100777 * 65_536 })).not.toThrow();
    for (const mode of [0o104644, 0o102644, 0o101644]) {
      expect(check({ externalAttributes: mode * 65_536 })).toThrow(
        "its murmur.yaml has a set-user, set-group or sticky bit",
      );
    }
  });

  test("is a file by its DOS attributes", () => {
    expect(check({ externalAttributes: 0x81a4_fbe7 })).not.toThrow();
    for (const attribute of [0x8, 0x10, 0x400]) {
      expect(check({ externalAttributes: attribute })).toThrow(NO_FILE);
      expect(check({ externalAttributes: 0x81a4_0020 + attribute })).toThrow(NO_FILE);
    }
  });

  test("is not encrypted, in either way", () => {
    for (const flags of [0x1, 0x40, 0x41]) {
      expect(check({ flags })).toThrow("its murmur.yaml is encrypted");
    }
    for (const flags of [0x2, 0x8, 0x80, 0x800]) expect(check({ flags })).not.toThrow();
  });

  test("is no patch, and needs no version of ZIP that others do not know", () => {
    expect(check({ flags: 0x20 })).toThrow("its murmur.yaml is a patch for another file");
    for (const neededVersion of [0, 45, 63]) expect(check({ neededVersion })).not.toThrow();
    for (const neededVersion of [64, 255]) {
      expect(check({ neededVersion })).toThrow("its murmur.yaml needs a later version of ZIP than 6.3");
    }
  });

  test("is either stored or deflated", () => {
    expect(check({ method: STORED })).not.toThrow();
    for (const method of [1, 7, 9, 12, 93]) {
      expect(check({ method })).toThrow(`its murmur.yaml uses compression method ${method}`);
    }
  });

  test("is 256 KiB at most, and at most twice that packed", () => {
    expect(MAX_MANIFEST_BYTES).toBe(262_144);
    const tooLarge = "its murmur.yaml is larger than 256 KiB";
    expect(check({ uncompressedSize: 262_144, compressedSize: 524_288 })).not.toThrow();
    expect(check({ uncompressedSize: 262_145 })).toThrow(tooLarge);
    expect(check({ compressedSize: 524_289 })).toThrow(tooLarge);
  });
});

describe("the manifest's text", () => {
  const unpack = (packed: Uint8Array, fields: Partial<Entry> = {}) =>
    Buffer.from(unpackManifest(Buffer.from(packed), entryOf(fields)));

  test("is what was packed, or what was stored", () => {
    expect(unpack(PACKED)).toEqual(TEXT);
    expect(unpack(TEXT, { method: STORED })).toEqual(TEXT);
  });

  test("has the size and the checksum given in the directory", () => {
    const differs = "its murmur.yaml does not match its size and checksum";
    for (const lie of [{ uncompressedSize: TEXT.length + 1 }, { crc32: 1 }]) {
      expect(() => unpack(PACKED, lie)).toThrow(differs);
      expect(() => unpack(TEXT, { ...lie, method: STORED })).toThrow(differs);
    }
  });

  test("uses all of its packed bytes, and they are complete", () => {
    expect(() => unpack(Buffer.concat([PACKED, Buffer.from("x")]))).toThrow(
      "its murmur.yaml ends before its packed bytes do",
    );
    for (const packed of [PACKED.subarray(0, -3), Buffer.alloc(0), Buffer.alloc(9, 0xff)]) {
      expect(() => unpack(packed)).toThrow("its murmur.yaml does not unpack");
    }
  });

  test("is unpacked only up to the limit, whatever size the directory gives", () => {
    const text = Buffer.alloc(MAX_MANIFEST_BYTES, "a");
    const fields = { uncompressedSize: text.length, crc32: crc32(text) };
    expect(unpack(deflateRawSync(text), fields)).toEqual(text);
    const longer = deflateRawSync(Buffer.concat([text, Buffer.from("a")]));
    expect(() => unpack(longer, fields)).toThrow("its murmur.yaml is larger than 256 KiB");
  });
});
