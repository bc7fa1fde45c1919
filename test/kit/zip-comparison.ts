/** Compares what ours reads in mutant archives with what other people's readers show. */

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { readArtifactFile } from "../../src/registry/artifact-file.ts";
import { SpareDescriptors } from "../../src/registry/spare-descriptors.ts";
import { inSlices } from "../../src/slices.ts";
import { createRandom } from "./random.ts";
import { mutantArchive } from "./zip-mutants.ts";
import type { Reader, Views, ZipPeers } from "./zip-peers.ts";

const DESCRIPTORS = new SpareDescriptors(0);

/** The start of the SHA-256 of the manifest that our reader finds in the archive at `path`; null if it refuses. */
export async function ownView(path: string): Promise<string | null> {
  const reading = await inSlices(readArtifactFile(path, DESCRIPTORS));
  if (reading.kind === "failed") throw new Error(reading.fault);
  if (reading.kind !== "read") return null;
  return new Bun.CryptoHasher("sha256").update(reading.manifestText).digest("hex").slice(0, 16);
}

/** The readers that show a different manifest from ours. A reader that refuses is not counted. */
export function disagreeing(own: string, views: Views): Reader[] {
  const shown = Object.entries(views).filter(([, view]) => view !== null && view !== own);
  return shown.map(([reader]) => reader as Reader);
}

export interface Comparison {
  readonly archives: number;
  /** Those that ours read. */
  readonly read: number;
  /** How often each of the readers showed what ours did. */
  readonly agreed: Readonly<Record<string, number>>;
  readonly differences: readonly { readonly seed: number; readonly readers: readonly Reader[] }[];
}

/** Archives of seeds from `firstSeed` on, until `isOver`. Only those that ours reads are shown to the others. */
export async function compareMutants(
  peers: ZipPeers,
  directory: string,
  firstSeed: number,
  isOver: (archives: number) => boolean,
): Promise<Comparison> {
  const path = join(directory, "mutant.zip");
  const agreed: Record<string, number> = {};
  const differences: { seed: number; readers: Reader[] }[] = [];
  let archives = 0;
  let read = 0;
  for (; !isOver(archives); archives++) {
    const seed = firstSeed + archives;
    writeFileSync(path, mutantArchive(createRandom(seed)));
    const own = await ownView(path);
    if (own === null) continue;
    read++;
    const views = await peers.views(path);
    for (const [reader, view] of Object.entries(views)) {
      if (view === own) agreed[reader] = (agreed[reader] ?? 0) + 1;
    }
    const readers = disagreeing(own, views);
    if (readers.length > 0) differences.push({ seed, readers });
  }
  return { archives, read, agreed, differences };
}
