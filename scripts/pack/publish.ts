/** Puts a packed capsule where the daemon looks for it. */
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { type Envelope, lowerManifest } from "../../src/referee/envelope.ts";
import { bareName, type Coordinates } from "../../src/registry/artifact-name.ts";
import { readManifest } from "../../src/registry/manifest.ts";
import { Registry, type Resolution } from "../../src/registry/registry.ts";
import { atOnce } from "../../src/slices.ts";
import { sha256OfFile } from "../release/checksums.ts";
import { writeArchive } from "./archive.ts";

/** How the daemon resolves the artifact, and where it is. */
export interface Published {
  readonly resolution: Resolution<Envelope>;
  /** Path of the archive. */
  readonly path: string;
}

/**
 * Packs `folder` next to its place in the registry, reads it there the way the daemon does, and moves it to its place only
 * if that succeeds. A new version appears in one step. When a version is replaced, the archive is moved first; until the
 * sidecar follows, the daemon answers that it names another hash.
 */
export async function publishFolder(
  folder: string,
  coordinates: Coordinates,
  registry: string,
): Promise<Published> {
  mkdirSync(registry, { recursive: true });
  const staging = mkdtempSync(join(registry, ".packing-"));
  try {
    const place = (root: string) => join(root, coordinates.name, coordinates.version);
    const base = `${bareName(coordinates.name)}-${coordinates.version}`;
    const made = place(staging);
    mkdirSync(made, { recursive: true });
    const archive = join(made, `${base}.mur.zip`);
    await writeArchive(folder, archive);
    writeFileSync(join(made, `${base}.sha256`), `${await sha256OfFile(archive)}\n`);
    const resolution = await new Registry({
      path: staging,
      readManifest,
      lower: (manifest) => atOnce(lowerManifest(manifest)),
    }).resolve(coordinates);
    if (resolution.ok) moveIntoPlace(made, place(registry), [`${base}.mur.zip`, `${base}.sha256`]);
    return { resolution, path: join(place(registry), `${base}.mur.zip`) };
  } finally {
    rmSync(staging, { recursive: true, force: true });
  }
}

/** Other files in the version's folder are kept. */
function moveIntoPlace(from: string, to: string, names: readonly string[]): void {
  mkdirSync(dirname(to), { recursive: true });
  if (!existsSync(to)) renameSync(from, to);
  else for (const name of names) renameSync(join(from, name), join(to, name));
}
