/**
 * `npm run fuzz:archives -- --seconds N [--seed S]`: has mutant archives read by our reader and by all other ZIP readers
 * that are installed. Exits 1 if one of them shows another manifest than ours. A seed gives the same archives again.
 *
 * `--record` writes the file that the tests use where those readers or archivers are missing: ordinary archives, and
 * mutants with the readers' answers.
 */

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ARCHIVERS, archiveBy } from "../test/kit/archivers.ts";
import { createRandom } from "../test/kit/random.ts";
import { compareMutants, ownView } from "../test/kit/zip-comparison.ts";
import { mutantArchive } from "../test/kit/zip-mutants.ts";
import { installed, type Views, ZipPeers } from "../test/kit/zip-peers.ts";
import { readNumbers } from "./number-flags.ts";

/** How many mutants to record. At least one reader reads each of them, and ours reads half of them. */
const RECORDED = 200;
const RECORDS = join(import.meta.dir, "../test/registry/zip/recorded.json");

const args = process.argv.slice(2);
const isRecording = args.includes("--record");
const { seconds, seed } = readNumbers(
  "npm run fuzz:archives -- [--seconds N] [--seed S] [--record]",
  { seconds: 60, seed: crypto.getRandomValues(new Uint32Array(1))[0] ?? 0 },
  args.filter((argument) => argument !== "--record"),
);
const readers = installed(["zipfile", "zipfile-extract", "unzip", "7z", "bsdtar"]);
if (readers.length === 0) throw new Error("/usr/bin/python3, which asks the other readers, is not installed");

const say = (line: string) => process.stdout.write(`${line}\n`);
say(`seeds from ${seed} on; ${readers.join(", ")}`);
const directory = mkdtempSync(join(tmpdir(), "mur-roost-fuzz-"));
try {
  await using peers = new ZipPeers(readers);
  if (isRecording) await record(peers, directory, seed);
  else process.exitCode = await compare(peers, directory);
} finally {
  rmSync(directory, { recursive: true });
}

async function compare(peers: ZipPeers, directory: string): Promise<number> {
  const end = performance.now() + seconds * 1000;
  const isOver = () => performance.now() >= end;
  const { differences, ...counts } = await compareMutants(peers, directory, seed, isOver);
  say(JSON.stringify(counts));
  for (const { seed, readers } of differences) say(`seed ${seed}: ${readers.join(", ")} differ`);
  return differences.length === 0 ? 0 : 1;
}

async function record(peers: ZipPeers, directory: string, firstSeed: number): Promise<void> {
  const ordinary: Record<string, string> = {};
  for (const archiver of ARCHIVERS) {
    const scratch = mkdtempSync(join(directory, "archiver-"));
    const archive = archiveBy(archiver, scratch);
    if (!archive) throw new Error(`${archiver}: not installed`);
    ordinary[archiver] = archive.toString("base64");
  }
  const mutants: { archive: string; views: Views }[] = [];
  const left = { read: RECORDED / 2, refused: RECORDED / 2 };
  for (let seed = firstSeed; left.read + left.refused > 0; seed++) {
    const archive = mutantArchive(createRandom(seed));
    const path = join(directory, "mutant.zip");
    writeFileSync(path, archive);
    const verdict = (await ownView(path)) === null ? "refused" : "read";
    if (left[verdict] === 0) continue;
    const views = await peers.views(path);
    if (Object.values(views).every((view) => view === null)) continue;
    left[verdict]--;
    mutants.push({ archive: archive.toString("base64"), views });
  }
  writeFileSync(RECORDS, `${JSON.stringify({ ordinary, mutants }, undefined, 1)}\n`);
}
