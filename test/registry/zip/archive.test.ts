import { describe, expect, test } from "bun:test";
import { crc32 } from "node:zlib";
import { readArchivedManifest } from "../../../src/registry/zip/archive.ts";
import { atOnce } from "../../../src/slices.ts";
import { STORED, type ZipEnd, type ZipEntry, zipBytes } from "../../kit/zip-bytes.ts";
import { withFile } from "./held-file.ts";

const TEXT = "name: a\n";
const MANIFEST: ZipEntry = { name: "murmur.yaml", content: TEXT };
const OTHER: ZipEntry = { name: "tool.wasm", content: "some bytes" };

const readBytes = (archive: Uint8Array) =>
  withFile(archive, (file) => Buffer.from(atOnce(readArchivedManifest(file))).toString());
const read = (entries: readonly ZipEntry[], end: ZipEnd = {}) => readBytes(zipBytes(entries, end));

const OVERLAPS = "one of its entries overlaps another part of it, or stands in another order than listed";
const NO_MANIFEST = "it holds no murmur.yaml at its root";
const PREFIX = "there is other data before its first entry";

describe("the manifest of an archive", () => {
  test("is found at any position among the entries", () => {
    expect(read([MANIFEST])).toBe(TEXT);
    expect(read([MANIFEST, OTHER, OTHER])).toBe(TEXT);
    expect(read([OTHER, OTHER, MANIFEST])).toBe(TEXT);
    expect(read([OTHER, { name: "folder/", method: STORED }, MANIFEST, OTHER])).toBe(TEXT);
  });

  test("must exist at the root", () => {
    expect(() => read([])).toThrow(NO_MANIFEST);
    expect(() => read([OTHER])).toThrow(NO_MANIFEST);
    expect(() => read([{ ...MANIFEST, name: "docs/murmur.yaml" }])).toThrow(NO_MANIFEST);
  });

  test("is the only entry that an unpacker may write there", () => {
    const two = "it holds two entries that unpack to murmur.yaml";
    expect(() => read([MANIFEST, MANIFEST])).toThrow(two);
    expect(() => read([MANIFEST, { ...MANIFEST, name: "./murmur.yaml" }])).toThrow(two);
    expect(() => read([{ ...MANIFEST, name: "MURMUR.YAML" }, OTHER, MANIFEST])).toThrow(two);
    // A directory in its place.
    expect(() => read([{ ...OTHER, name: "murmur.yaml/x" }, MANIFEST])).toThrow(two);
    expect(() => read([{ ...MANIFEST, name: "MURMUR.YAML" }])).toThrow(NO_MANIFEST);
  });

  test("is in no archive with a link to another entry, or of another format", () => {
    const link = { name: "d", content: ".", method: STORED, attributes: 0o120777 * 65536 };
    expect(read([MANIFEST, link])).toBe(TEXT);
    expect(() => read([{ ...OTHER, name: "d/murmur.yaml" }, MANIFEST, link])).toThrow("of a symbolic link");
    const image = Buffer.alloc(40_000, "CD001");
    const long = (name: string) => read([{ name, content: image, method: STORED }, MANIFEST]);
    // The mark is at one position only.
    const faults = ["x", "xx", "xxx", "xxxx", "xxxxx"].filter((name) => {
      try {
        return long(name) !== TEXT;
      } catch (error) {
        return String(error).includes("it is also an ISO 9660 image");
      }
    });
    expect(faults).toHaveLength(1);
  });

  test("is the only entry that is checked in full", () => {
    expect(() => read([{ ...MANIFEST, method: 12 }])).toThrow("its murmur.yaml uses compression method 12");
    expect(read([{ ...OTHER, method: 12, crc: 1, attributes: 0x10 }, MANIFEST])).toBe(TEXT);
    expect(read([{ ...OTHER, flags: 1 }, MANIFEST])).toBe(TEXT);
  });
});

describe("an entry", () => {
  test("has one name in the directory and before its data", () => {
    const differs = (whose: string) => `the local header of ${whose} differs from the directory`;
    expect(() => read([{ ...MANIFEST, local: { name: "murmur.yamL" } }])).toThrow(differs("its murmur.yaml"));
    expect(() => read([{ ...OTHER, local: { name: "tool.wasn" } }, MANIFEST])).toThrow(
      differs("one of its entries"),
    );
    // Everything that describes its data, too.
    expect(() => read([{ ...MANIFEST, local: { crc: 1 } }])).toThrow(differs("its murmur.yaml"));
    expect(() => read([{ ...OTHER, local: { method: 7 } }, MANIFEST])).toThrow(differs("one of its entries"));
    // The same name, but one of the two has a Unicode path that leads elsewhere.
    const elsewhere = Buffer.from("\x75\x70\x10\x0012345murmur.yaml", "latin1");
    expect(() => read([{ ...OTHER, local: { extra: elsewhere } }, MANIFEST])).toThrow("goes by two names");
    const shouting = Buffer.from("\x75\x70\x10\x0012345MURMUR.YAML", "latin1");
    expect(() => read([{ ...OTHER, local: { extra: shouting } }, MANIFEST])).toThrow(
      differs("one of its entries"),
    );
  });

  test("follows the one that is listed before it, with or without bytes in between", () => {
    const first = zipBytes([OTHER, MANIFEST]);
    const second = first.indexOf("PK\x03\x04", 4);
    expect(read([OTHER, { ...MANIFEST, offset: second }])).toBe(TEXT);
    expect(() => read([OTHER, { ...MANIFEST, offset: 0 }])).toThrow(OVERLAPS);
    expect(() =>
      read([
        { ...OTHER, offset: second },
        { ...MANIFEST, offset: 0 },
      ]),
    ).toThrow();
    expect(() => read([OTHER, { ...MANIFEST, offset: second - 1 }])).toThrow(OVERLAPS);
  });

  test("is followed only by its own data descriptor", () => {
    const descriptor = Buffer.alloc(12);
    descriptor.writeUInt32LE(crc32("some bytes"), 0);
    descriptor.writeUInt32LE(10, 4);
    descriptor.writeUInt32LE(10, 8);
    const known = { ...OTHER, method: STORED, flags: 8, descriptor };
    expect(read([known, MANIFEST])).toBe(TEXT);
    expect(read([MANIFEST, known])).toBe(TEXT);
    const behind = "there is other data after one of its entries";
    for (const wrong of [Buffer.alloc(12), Buffer.alloc(1), Buffer.alloc(25)]) {
      expect(() => read([{ ...known, descriptor: wrong }, MANIFEST])).toThrow(behind);
      expect(() => read([MANIFEST, { ...known, descriptor: wrong }])).toThrow(behind);
      expect(() => read([{ ...OTHER, descriptor: wrong }, MANIFEST])).toThrow(behind);
    }
  });

  test("ends before the directory, its header and its data", () => {
    const sizes = (size: number) =>
      read([MANIFEST, { ...OTHER, method: STORED, compressedSize: size, uncompressedSize: size }]);
    expect(sizes(10)).toBe(TEXT);
    expect(() => sizes(11)).toThrow(OVERLAPS);
    const whole = zipBytes([MANIFEST]);
    const directory = whole.subarray(whole.indexOf("PK\x01\x02"));
    const withRoom = (bytes: number) => {
      const archive = Buffer.concat([Buffer.alloc(bytes, "x"), directory]);
      archive.writeUInt32LE(bytes, archive.length - 6);
      return () => readBytes(archive);
    };
    expect(withRoom(29)).toThrow(OVERLAPS);
    expect(withRoom(30)).toThrow("one of its entries is not where the directory says");
  });
});

describe("the data before the first entry", () => {
  const behind = (prefix: string) => read([MANIFEST], { prefix: Buffer.from(prefix, "latin1") });

  test.each(["#!/bin/sh\n", "#! /usr/bin/env\tpython3 -I\n", `#!/${"~".repeat(251)}\n`])(
    "may be the line %j, which starts a program",
    (line) => {
      expect(behind(line)).toBe(TEXT);
    },
  );

  test.each([
    ["a longer line", `#!/${"~".repeat(252)}\n`],
    ["a line without an end", "#!/bin/sh"],
    ["two lines", "#!/bin/sh\n\n"],
    ["a line that ends twice", "#!/bin/sh\r\n"],
    ["a line that is not plain text", "#!/bin/sh\x1b\n"],
    ["a line of another alphabet", "#!/bin/\xe9\n"],
    ["a byte", "x"],
    ["a line that starts no program", "x#!/bin/sh\n"],
    ["the start of an LHA archive", "#!-lh5-\n"],
    ["the start of a gzip file", "\x1f\x8b\x08\0"],
    ["a block of zeros", "\0".repeat(512)],
  ])("is not %s", (_, prefix) => {
    expect(() => behind(prefix)).toThrow(PREFIX);
  });
});

test("reading gives others their turn at each entry, even an empty one", () => {
  const entries = Array.from({ length: 50 }, (_, index) => ({ name: `${index}`, method: STORED }));
  withFile(zipBytes([...entries, MANIFEST]), (file) => {
    // At least once when each is searched for, and once when it is passed.
    expect([...readArchivedManifest(file)].length).toBeGreaterThanOrEqual(2 * 51);
  });
});
