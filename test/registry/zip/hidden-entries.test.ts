/**
 * A reader that knows no directory (`bsdtar -xf -`, Java's `ZipInputStream`) goes from header to header. An entry that is
 * hidden from the directory is the manifest that it unpacks last.
 */

import { afterAll, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { readArtifactFile } from "../../../src/registry/artifact-file.ts";
import { SpareDescriptors } from "../../../src/registry/spare-descriptors.ts";
import { inSlices } from "../../../src/slices.ts";
import { scratchDirectory } from "../../kit/scratch.ts";
import { STORED, type ZipEntry, zipBytes } from "../../kit/zip-bytes.ts";

const scratch = scratchDirectory();
afterAll(() => scratch[Symbol.dispose]());

const GOOD = "name: good\nversion: 0.1.0\n";
const EVIL = "name: evil\nversion: 0.1.0\n";
const manifest: ZipEntry = { name: "murmur.yaml", content: GOOD, method: STORED };
/** A whole entry, for no directory. */
const hidden = zipBytes([{ ...manifest, content: EVIL }]).subarray(
  0,
  30 + "murmur.yaml".length + EVIL.length,
);

async function read(entries: readonly ZipEntry[]): Promise<string> {
  const path = join(scratch.path, "archive.zip");
  writeFileSync(path, zipBytes(entries));
  const reading = await inSlices(readArtifactFile(path, new SpareDescriptors(0)));
  return reading.kind === "read"
    ? Buffer.from(reading.manifestText).toString()
    : `${reading.kind}: ${reading.fault}`;
}

const BEHIND = "not-an-archive: there is other data after one of its entries";

/** Bytes of a data descriptor: its numbers in four bytes each, or the last two in eight. */
function descriptor(sizeBytes: 4 | 8, ...numbers: readonly [number, number, number]): Buffer {
  const bytes = Buffer.alloc(4 + 2 * sizeBytes);
  for (const [index, number] of numbers.entries()) {
    bytes.writeUInt32LE(number, index === 0 ? 0 : 4 + (index - 1) * sizeBytes);
  }
  return bytes;
}

test.each<[string, readonly ZipEntry[]]>([
  [
    "between two entries",
    [
      { ...manifest, descriptor: hidden },
      { name: "x", content: "x" },
    ],
  ],
  [
    "before the directory",
    [
      { name: "x", content: "x" },
      { ...manifest, descriptor: hidden },
    ],
  ],
  ["after a data descriptor", [{ ...manifest, flags: 8, descriptor: hidden }]],
])("no entry is hidden %s", async (_, entries) => {
  expect(await read(entries)).toBe(BEHIND);
});

test("no entry is hidden in the data of another, whose own header says that it is shorter", async () => {
  const content = Buffer.concat([Buffer.from("hello"), hidden]);
  const outer = { name: "x", content, method: STORED, local: { compressedSize: 5, uncompressedSize: 5 } };
  expect(await read([manifest, outer])).toBe(
    "not-an-archive: the local header of one of its entries differs from the directory",
  );
});

test.each<[string, Partial<ZipEntry>]>([
  ["file", { content: Buffer.concat([Buffer.from("hello"), hidden]), uncompressedSize: 5 }],
  ["file of no bytes", { content: hidden, uncompressedSize: 0 }],
  ["directory", { name: "x/", content: hidden, uncompressedSize: 0 }],
  // Only the first of the two bits says that an entry is encrypted.
  ["file with one of the bits of encryption", { content: hidden, uncompressedSize: 0, flags: 0x40 }],
])("no entry is hidden in a stored %s that is shorter once it is unpacked", async (_, fields) => {
  const outer = { name: "x", method: STORED, ...fields };
  const fault = "not-an-archive: one of its entries is stored as it is, but has two different sizes";
  expect(await read([manifest, outer])).toBe(fault);
  expect(await read([outer, manifest])).toBe(fault);
  expect(await read([{ ...outer, local: { uncompressedSize: hidden.length } }, manifest])).toStartWith(
    "not-an-archive: ",
  );
});

test.each([
  ["in its header alone", 5, 5],
  ["in the directory alone", 0, 4],
])("nor where a data descriptor follows, and the sizes differ %s", async (_, compressedSize, size) => {
  const local = { crc: 0, compressedSize, uncompressedSize: 0 };
  const own = descriptor(4, Bun.hash.crc32("hello"), 5, size);
  const outer = { name: "x", content: "hello", method: STORED, flags: 8, uncompressedSize: size };
  expect(await read([{ ...outer, local, descriptor: own }, manifest])).toBe(
    "not-an-archive: one of its entries is stored as it is, but has two different sizes",
  );
});

const crc = Bun.hash.crc32("hello");
const streamed: ZipEntry = {
  name: "x",
  content: "hello",
  method: STORED,
  flags: 8,
  local: { crc: 0, compressedSize: 0, uncompressedSize: 0 },
};
const SIGNATURE = Buffer.from("PK\x07\x08", "latin1");

test.each([4, 8] as const)(
  "a data descriptor with sizes of %d bytes belongs to its entry",
  async (sizeBytes) => {
    const numbers = descriptor(sizeBytes, crc, 5, 5);
    for (const own of [numbers, Buffer.concat([SIGNATURE, numbers])]) {
      expect(await read([{ ...streamed, descriptor: own }, manifest])).toBe(GOOD);
    }
  },
);

test.each([
  ["has a wrong size", descriptor(4, crc, 5, 6)],
  ["has a wrong checksum", descriptor(4, crc ^ 1, 5, 5)],
  ["is missing", Buffer.alloc(0)],
  ["is cut off", descriptor(4, crc, 5, 5).subarray(0, 11)],
])("a data descriptor that %s is refused", async (_, other) => {
  expect(await read([{ ...streamed, descriptor: other }, manifest])).toBe(BEHIND);
});

test("a size that no number holds exactly is refused as a fault of the archive", async () => {
  // A zip64 field with the greatest size that there is.
  const extra = Buffer.from([1, 0, 8, 0, ...Array<number>(8).fill(0xff)]);
  const packed = Buffer.from("hello");
  const own = descriptor(8, crc, 5, 5);
  const endless = { ...streamed, method: 8, packed, uncompressedSize: 0xffffffff, extra, descriptor: own };
  expect(await read([endless, manifest])).toBe(BEHIND);
});
