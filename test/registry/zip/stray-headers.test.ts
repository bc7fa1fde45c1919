/**
 * Where the sizes of an entry follow its data, a reader that knows no directory may end the data too early, and find another
 * header in it (`bsdtar -xf -`, Java's `ZipInputStream`).
 */

import { describe, expect, test } from "bun:test";
import { crc32, deflateRawSync } from "node:zlib";
import { readArchivedManifest } from "../../../src/registry/zip/archive.ts";
import { StrayHeaders } from "../../../src/registry/zip/stray-headers.ts";
import { atOnce } from "../../../src/slices.ts";
import { STORED, type ZipEnd, type ZipEntry, zipBytes } from "../../kit/zip-bytes.ts";
import { withFile } from "./held-file.ts";

const GOOD = "name: good\n";
const MANIFEST: ZipEntry = { name: "murmur.yaml", content: GOOD, method: STORED };
const FAULT =
  "a reader of streams would find another murmur.yaml in it: pack it again with the sizes in the headers";

const read = (entries: readonly ZipEntry[], end?: ZipEnd) =>
  withFile(zipBytes(entries, end), (file) => Buffer.from(atOnce(readArchivedManifest(file))).toString());

/** An entry without the directory. */
function hidden(name: string, entry: Partial<ZipEntry> = {}): Buffer {
  const bytes = zipBytes([{ name, content: "name: evil\n", method: STORED, ...entry }]);
  return bytes.subarray(0, bytes.indexOf("PK\x01\x02", 0, "latin1"));
}

/** As an archiver writes it to a pipe. */
function streamed(name: string, data: Uint8Array, method = STORED): ZipEntry {
  const numbers = Buffer.alloc(12);
  numbers.writeUInt32LE(crc32(data), 0);
  numbers.writeUInt32LE(data.length, 4);
  numbers.writeUInt32LE(data.length, 8);
  const descriptor = Buffer.concat([Buffer.from("PK\x07\x08", "latin1"), numbers]);
  const local = { crc: 0, compressedSize: 0, uncompressedSize: 0 };
  return { name, content: data, packed: data, method, flags: 8, local, descriptor };
}

/** Data that ends early: a stream, what a reader takes for its descriptor, and a header. */
const ended = (after: Uint8Array) => Buffer.concat([deflateRawSync("hello"), Buffer.alloc(12), after]);
const OTHER: ZipEntry = { name: "x", method: STORED };
const UNICODE_PATH = Buffer.from("up\x10\x0012345murmur.yaml", "latin1");
const UNKNOWN_FIELD = Buffer.concat([
  Buffer.from([9, 0, hidden("murmur.yaml").length, 0]),
  hidden("murmur.yaml"),
]);
const PLAIN = streamed("plain", Buffer.from("hello"));

describe("where a reader may end the data of an entry too early", () => {
  test.each<[string, ...ZipEntry[]]>([
    ["in that entry", streamed("x", ended(hidden("murmur.yaml")), 8)],
    ["in one whose own size is known", PLAIN, { ...OTHER, content: hidden("murmur.yaml") }],
    ["before that entry", { ...OTHER, content: hidden("murmur.yaml") }, PLAIN],
    ["packed by a rarer method", streamed("x", ended(hidden("murmur.yaml", { method: 93 })), 8)],
    ["under another spelling", streamed("x", ended(hidden("./MUR\x01mur.yaml")), 8)],
    ["as a Unicode path", streamed("x", ended(hidden("y", { local: { extra: UNICODE_PATH } })), 8)],
    ["in an extra field", PLAIN, { ...OTHER, local: { extra: UNKNOWN_FIELD } }],
  ])("no other manifest is hidden %s", (_, ...entries) => {
    expect(() => read([MANIFEST, ...entries])).toThrow(FAULT);
    expect(() => read([...entries, MANIFEST])).toThrow(FAULT);
  });

  test("no other manifest is hidden in the comment", () => {
    const comment = hidden("murmur.yaml", { crc: 0 }).toString("latin1");
    expect(() => read([MANIFEST, PLAIN], { comment })).toThrow(FAULT);
    expect(read([MANIFEST], { comment })).toBe(GOOD);
  });

  test("an archive in the archive is read, unless it holds a manifest that is not compressed", () => {
    const inner = (name: string) => zipBytes([{ name: "word/" }, { name, content: "name: inner\n" }]);
    expect(read([MANIFEST, streamed("a.docx", inner("word/document.xml"))])).toBe(GOOD);
    expect(() => read([MANIFEST, streamed("a.mur.zip", inner("murmur.yaml"))])).toThrow(FAULT);
    const packed = deflateRawSync(Buffer.concat([inner("murmur.yaml"), Buffer.alloc(2000, "text")]));
    expect(read([MANIFEST, streamed("a.mur.zip", packed, 8)])).toBe(GOOD);
  });

  test("a header that is listed, a signature alone and a name alone are not hidden", () => {
    expect(read([{ ...MANIFEST, ...streamed("murmur.yaml", Buffer.from(GOOD)) }, PLAIN])).toBe(GOOD);
    expect(read([MANIFEST, streamed("x", Buffer.from("PK\x03\x04"))])).toBe(GOOD);
    expect(read([MANIFEST, streamed("x", Buffer.from("murmur.yaml"))])).toBe(GOOD);
    const behind = Buffer.concat([hidden("y"), Buffer.from("murmur.yaml")]);
    expect(read([MANIFEST, streamed("x", behind)])).toBe(GOOD);
    // No method has this number, also to a reader that takes its lower byte only.
    expect(read([MANIFEST, streamed("x", hidden("murmur.yaml", { method: 0x164 }))])).toBe(GOOD);
  });

  test("a header is hidden also if its method is one in the lower byte only, as bsdtar reads it", () => {
    for (const method of [0x100, 0x6400, 0x108]) {
      expect(() => read([MANIFEST, streamed("x", hidden("murmur.yaml", { method }))])).toThrow(FAULT);
    }
  });
});

test("where all sizes are in the headers, an archive in the archive is read as it is", () => {
  const inner = zipBytes([MANIFEST]);
  expect(read([MANIFEST, { name: "a.mur.zip", content: inner, method: STORED }])).toBe(GOOD);
});

describe("the bytes of a file", () => {
  const found = (bytes: Buffer, windows: readonly number[], listed: readonly number[] = []) => {
    const strays = new StrayHeaders(new Set(listed));
    let at = 0;
    for (const end of [...windows, bytes.length]) {
      atOnce(strays.look(bytes.subarray(at, end)));
      at = end;
    }
    return atOnce(strays.areFound());
  };

  test("are searched wherever they are parted", () => {
    const bytes = Buffer.concat([Buffer.alloc(40, "x"), hidden("murmur.yaml"), Buffer.alloc(200_000, "x")]);
    for (let cut = 30; cut < 90; cut++) expect(found(bytes, [cut])).toBe(true);
    expect(found(bytes, [], [40])).toBe(false);
    expect(found(bytes, [], [39, 41])).toBe(true);
    expect(found(bytes.subarray(0, 40 + 30 + 11), [])).toBe(true);
    expect(found(bytes.subarray(0, 40 + 30 + 10), [])).toBe(false);
  });

  test("are searched for the longest header, and behind others", () => {
    const extra = Buffer.from("murmur.yaml".padStart(0xffff, "x"));
    const long = hidden("n".repeat(0xffff), { local: { extra } });
    const bytes = Buffer.concat([hidden("other"), Buffer.from("murmur.yaml"), long, Buffer.alloc(300_000)]);
    expect(found(bytes, [131_072, 262_144])).toBe(true);
    // The name ends one byte behind the header.
    long.writeUInt16LE(0xfffe, 28);
    const shorter = Buffer.concat([hidden("other"), Buffer.from("murmur.yaml"), long, Buffer.alloc(300_000)]);
    expect(found(shorter, [131_072, 262_144])).toBe(false);
  });

  test("give others their turn", () => {
    const strays = new StrayHeaders(new Set());
    const many = Buffer.concat(Array.from({ length: 100 }, () => hidden("other")));
    expect([...strays.look(many), ...strays.areFound()].length).toBeGreaterThanOrEqual(100);
  });

  test("what only begins like a header at the end of the file is none", () => {
    expect(read([MANIFEST, PLAIN], { comment: "PK\x03\x04" })).toBe(GOOD);
  });

  test("a header that the directory lists is none, wherever it stands", () => {
    expect(read([streamed("large", Buffer.alloc(400_000)), MANIFEST])).toBe(GOOD);
  });
});
