/** Packs a capsule and publishes it into a registry, as `mur install` would. */

import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { ZipFile } from "yazl";
import { isSettled, sight } from "../../src/registry/places.ts";
import { until } from "./until.ts";

/** What goes into an archive: file names and their contents. */
export type CapsuleFiles = Readonly<Record<string, string | Uint8Array>>;

/** The bytes of a `.mur.zip` that holds these files. */
export async function packCapsule(files: CapsuleFiles): Promise<Buffer> {
  const zip = new ZipFile();
  for (const [name, content] of Object.entries(files)) {
    zip.addBuffer(Buffer.from(content), name, { mtime: new Date(0) });
  }
  zip.end();
  return await buffer(zip.outputStream);
}

/**
 * Puts an archive where the daemon looks for `<scope>/<name>` at `version`, with its sidecar. What was there is
 * replaced.
 *
 * @returns the lowercase hex SHA-256 of the archive
 */
export function publishArchive(registry: string, name: string, version: string, archive: Uint8Array): string {
  const directory = join(registry, name, version);
  const base = join(directory, `${name.slice(name.indexOf("/") + 1)}-${version}`);
  const sha256 = createHash("sha256").update(archive).digest("hex");
  mkdirSync(directory, { recursive: true });
  replaceFile(`${base}.mur.zip`, archive);
  replaceFile(`${base}.sha256`, `${sha256}\n`);
  return sha256;
}

/** Waits until the daemon remembers what it reads here: it remembers nothing of a file that changed a moment ago. */
export async function settled(registry: string): Promise<void> {
  const files = readdirSync(registry, { recursive: true, withFileTypes: true }).filter((entry) =>
    entry.isFile(),
  );
  const seen = files.map(({ parentPath, name }) => sight(join(parentPath, name)));
  await until("no file changed a moment ago", () => isSettled(seen, Date.now()));
}

/** A reader sees the old file or the new one, and never a part. */
function replaceFile(path: string, content: string | Uint8Array): void {
  writeFileSync(`${path}.new`, content);
  renameSync(`${path}.new`, path);
}
