/** What ordinary archivers write is read; what lies is read as others read it, or not at all. */

import { afterAll, describe, expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { readArtifactFile } from "../../../src/registry/artifact-file.ts";
import { SpareDescriptors } from "../../../src/registry/spare-descriptors.ts";
import { inSlices } from "../../../src/slices.ts";
import { ARCHIVERS, archiveBy, archiveByYazl, MANIFEST_TEXT } from "../../kit/archivers.ts";
import { scratchDirectory } from "../../kit/scratch.ts";
import { DEFLATED, STORED, type ZipEntry, zipBytes } from "../../kit/zip-bytes.ts";
import { compareMutants, disagreeing, ownView } from "../../kit/zip-comparison.ts";
import { installed, ZipPeers } from "../../kit/zip-peers.ts";
// Written by `npm run fuzz:archives -- --record`, for hosts that lack an archiver or a reader.
import recorded from "./recorded.json";

const scratch = scratchDirectory();
afterAll(() => scratch[Symbol.dispose]());

let files = 0;
function written(archive: Uint8Array): string {
  const path = join(scratch.path, `${files++}.zip`);
  writeFileSync(path, archive);
  return path;
}

async function manifestIn(archive: Uint8Array): Promise<string> {
  const reading = await inSlices(readArtifactFile(written(archive), new SpareDescriptors(0)));
  return reading.kind === "read" ? Buffer.from(reading.manifestText).toString() : reading.fault;
}

describe("the manifest is read from an archive", () => {
  for (const archiver of ARCHIVERS) {
    test(`recorded from ${archiver}`, async () => {
      const archive = Buffer.from(recorded.ordinary[archiver as keyof typeof recorded.ordinary], "base64");
      expect(await manifestIn(archive)).toBe(MANIFEST_TEXT);
    });

    const folder = join(scratch.path, archiver);
    mkdirSync(folder, { recursive: true });
    const archive = archiveBy(archiver, folder);
    test.skipIf(!archive)(`made here by ${archiver}`, async () => {
      expect(await manifestIn(archive ?? Buffer.alloc(0))).toBe(MANIFEST_TEXT);
    });
  }

  test.each([false, true])("made here by yazl, zip64 %p", async (forceZip64Format) => {
    expect(await manifestIn(await archiveByYazl(forceZip64Format))).toBe(MANIFEST_TEXT);
  });
});

describe("an archive that is read shows the same manifest", () => {
  test("in other readers, for recorded mutants", async () => {
    const read: string[] = [];
    for (const { archive, views } of recorded.mutants) {
      const own = await ownView(written(Buffer.from(archive, "base64")));
      if (own === null) continue;
      read.push(own);
      expect({ archive, readers: disagreeing(own, views) }).toEqual({ archive, readers: [] });
    }
    expect(read.length).toBe(recorded.mutants.length / 2);
  });

  const readers = installed(["zipfile", "zipfile-extract", "unzip"]);
  const isWhole = readers.length === 3;
  if (!isWhole) {
    process.stderr.write("python3 or unzip is missing: archives are compared with recorded answers alone\n");
  }
  test.skipIf(!isWhole)("in Python's zipfile and in unzip, for new mutants", async () => {
    const seed = Number(process.env.FUZZ_SEED ?? crypto.getRandomValues(new Uint32Array(1))[0]);
    await using peers = new ZipPeers(readers);
    const end = performance.now() + 3000;
    const isOver = (archives: number) => archives > 0 && performance.now() >= end;
    const { differences, read } = await compareMutants(peers, scratch.path, seed, isOver);
    // The seeds say how to make the archives again.
    expect(differences).toEqual([]);
    expect(read).toBeGreaterThan(0);
  });

  test.skipIf(!isWhole)("a link that an unpacker makes counts as the file that it shows", async () => {
    await using peers = new ZipPeers(["unzip"]);
    const link = 0o120777 * 65536;
    const shown: ZipEntry = { name: "tool.wasm", content: "what the link shows" };
    const manifest: ZipEntry = { name: "murmur.yaml", content: "tool.wasm", host: 3, attributes: link };
    const { unzip } = await peers.views(written(zipBytes([manifest, shown])));
    expect(unzip).toBe(Bun.SHA256.hash("what the link shows", "hex").slice(0, 16));
    expect((await peers.views(written(zipBytes([manifest])))).unzip).toBe(null);
  });
});

/** Refused, because a reader shows another manifest; next to each, what is read everywhere alike. */
describe("fields that readers disagree on", () => {
  const GOOD = "name: good\n";
  const manifest: ZipEntry = { name: "murmur.yaml", content: GOOD };
  const other: ZipEntry = { name: "tool.wasm", content: "x", method: STORED };
  const zip64 = (...numbers: number[]) => {
    const field = Buffer.alloc(4 + 8 * numbers.length);
    field.writeUInt16LE(1, 0);
    field.writeUInt16LE(8 * numbers.length, 2);
    for (const [index, number] of numbers.entries()) field.writeBigUInt64LE(BigInt(number), 4 + 8 * index);
    return field;
  };
  const asi = (mode: number) => Buffer.from([0x6e, 0x75, 6, 0, 0, 0, 0, 0, mode % 256, mode >> 8]);
  const large = (size: number): ZipEntry => {
    const extra = zip64(size);
    return { ...other, uncompressedSize: 0xffffffff, extra, local: { extra } };
  };
  const readers = installed(["zipfile", "zipfile-extract", "unzip", "7z", "bsdtar"]);

  test.each<[string, string, readonly ZipEntry[], readonly ZipEntry[]]>([
    [
      "a zip64 size that is a placeholder, to unzip",
      "the zip64 sizes of one of its entries hold 4294967295, which stands for another",
      [{ ...large(0xffffffff), method: DEFLATED }, manifest],
      [large(1), manifest],
    ],
    [
      "a link in an extra field, to unzip",
      "an extra field of one of its entries may make it a link",
      [other, { ...manifest, host: 3, extra: asi(0o120777) }],
      [other, { ...manifest, host: 3, extra: asi(0o100644) }],
    ],
    [
      "a link in an extra field before the data",
      "an extra field of one of its entries may make it a link",
      [other, { ...manifest, host: 3, local: { extra: asi(0o120777) } }],
      [other, { ...manifest, host: 3, local: { extra: asi(0o100644) } }],
    ],
    [
      "a disk without a number, to 7z",
      "it is one part of several",
      [other, { ...manifest, disk: 0xffff }],
      [other, { ...manifest, disk: 0xffff, extra: Buffer.from([1, 0, 4, 0, 0, 0, 0, 0]) }],
    ],
    [
      "a file below the manifest, to unpackers",
      "it holds two entries that unpack to murmur.yaml, or below it",
      [{ ...other, name: "murmur.yaml/x" }, manifest],
      [{ ...other, name: "murmur.yaml.d/x" }, manifest],
    ],
  ])("%s", async (_, fault, refused, sound) => {
    expect(await manifestIn(zipBytes(refused))).toBe(fault);
    const archive = zipBytes(sound);
    expect(await manifestIn(archive)).toBe(GOOD);
    if (readers.length === 0) return;
    await using peers = new ZipPeers(readers);
    const views = await peers.views(written(archive));
    const own = Bun.SHA256.hash(GOOD, "hex").slice(0, 16);
    expect(disagreeing(own, views)).toEqual([]);
  });
});
