/** What ordinary archivers write is read; what lies is read as others read it, or not at all. */

import { afterAll, describe, expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { readArtifactFile } from "../../../src/registry/artifact-file.ts";
import { SpareDescriptors } from "../../../src/registry/spare-descriptors.ts";
import { inSlices } from "../../../src/slices.ts";
import { ARCHIVERS, archiveBy, archiveByYazl, MANIFEST_TEXT } from "../../kit/archivers.ts";
import { scratchDirectory } from "../../kit/scratch.ts";
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
});
