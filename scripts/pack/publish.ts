/** Packs a folder as a `.mur.zip`, and puts it where the daemon looks for it. */
import {
  createWriteStream,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, relative, sep } from "node:path";
import type { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { ZipFile } from "yazl";
import { pathBelow } from "../../src/paths.ts";
import { type Envelope, lowerManifest } from "../../src/referee/envelope.ts";
import { bareName, type Coordinates } from "../../src/registry/artifact-name.ts";
import { readManifest } from "../../src/registry/manifest.ts";
import { locate, platformName } from "../../src/registry/places.ts";
import { Registry, type Resolution } from "../../src/registry/registry.ts";
import { LOCAL_SIGNATURE } from "../../src/registry/zip/local-header.ts";
import { atOnce } from "../../src/slices.ts";
import { temporaryFolder } from "../before-an-end.ts";
import { sha256OfFile } from "../release/checksums.ts";

/** How the daemon resolves the artifact, and where it is. */
interface Published {
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
  const place = (root: string) => pathBelow(root, coordinates.name, coordinates.version);
  const base = `${bareName(coordinates.name)}-${coordinates.version}`;
  refusePreferred(coordinates, registry, `${base}.mur.zip`);
  refuseWithin(folder, registry);
  mkdirSync(registry, { recursive: true });
  // Ctrl-C leaves no half-written archive behind.
  using staging = temporaryFolder(pathBelow(registry, ".packing-"));
  const made = place(staging.path);
  mkdirSync(made, { recursive: true });
  const archive = pathBelow(made, `${base}.mur.zip`);
  await writeArchive(folder, archive);
  writeFileSync(pathBelow(made, `${base}.sha256`), `${await sha256OfFile(archive)}\n`);
  const resolution = await new Registry({
    path: staging.path,
    readManifest,
    lower: (manifest) => atOnce(lowerManifest(manifest)),
  }).resolve(coordinates);
  if (resolution.ok) moveIntoPlace(made, place(registry), [`${base}.mur.zip`, `${base}.sha256`]);
  return { resolution, path: pathBelow(place(registry), `${base}.mur.zip`) };
}

/** @throws {Error} if the daemon would go on taking another archive: the one for this platform only */
function refusePreferred(coordinates: Coordinates, registry: string, archive: string): void {
  const found = locate(coordinates, { path: registry, platform: platformName(), now: Date.now });
  if (!found.ok || basename(found.place.zip.path) === archive) return;
  throw new Error(
    `${found.place.zip.path} comes first on this platform: move it and its sidecar away, or pack into another registry`,
  );
}

/** @throws {Error} if what is packed would hold what was packed before */
function refuseWithin(folder: string, registry: string): void {
  const steps = relative(realpathSync(folder), resolved(registry)).split(sep);
  // Names that begin with a dot are left out. So is what lies above the folder: the first step is `..` then.
  if (steps.some((step) => step.startsWith("."))) return;
  throw new Error(`${registry} lies in the folder that is packed: name another place with --registry-path`);
}

/** The path without links, of which the last part may not exist yet. */
function resolved(path: string): string {
  return existsSync(path) ? realpathSync(path) : pathBelow(resolved(dirname(path)), basename(path));
}

/** Other files in the version's folder are kept. */
function moveIntoPlace(from: string, to: string, names: readonly string[]): void {
  mkdirSync(dirname(to), { recursive: true });
  if (!existsSync(to)) renameSync(from, to);
  else for (const name of names) renameSync(pathBelow(from, name), pathBelow(to, name));
}

/**
 * Writes the archive of a folder; the same folder always gives the same bytes. Names that begin with a dot are left out.
 *
 * @throws {Error} if the folder contains something that is neither a file nor a folder
 */
async function writeArchive(folder: string, path: string): Promise<void> {
  const zip = new ZipFile();
  // A file that changes meanwhile is told here, not by the stream.
  zip.on("error", (error) => (zip.outputStream as Readable).destroy(error));
  const files = filesBeneath(folder);
  // The daemon refuses a capsule within the capsule if the sizes come after the data. To come first, they need all in memory.
  const isNested = files.some((file) => readFileSync(file).includes(LOCAL_SIGNATURE));
  for (const file of files) {
    const mode = (statSync(file).mode & 0o111) === 0 ? 0o100644 : 0o100755;
    const name = relative(folder, file).split(sep).join("/");
    const options = { mtime: new Date(0), mode };
    if (isNested) zip.addBuffer(readFileSync(file), name, options);
    else zip.addFile(file, name, options);
  }
  zip.end();
  // Opened at once, so that no file appears in a folder that a signal has just had removed.
  await pipeline(zip.outputStream, createWriteStream(path, { fd: openSync(path, "w") }));
}

function filesBeneath(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true })
    .filter(({ name }) => !name.startsWith("."))
    .sort((one, other) => (one.name < other.name ? -1 : 1))
    .flatMap((entry) => {
      const path = pathBelow(folder, entry.name);
      // A backslash would become a folder, and what is not UTF-8 another name.
      if (/[\\\ufffd]/.test(entry.name)) {
        throw new Error(`${path}: rename it: a name must be UTF-8 and without a backslash`);
      }
      if (entry.isDirectory()) return filesBeneath(path);
      if (entry.isFile()) return [path];
      throw new Error(`${path} is neither a file nor a folder: replace it by a copy of what it points to`);
    });
}
