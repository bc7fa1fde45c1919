/** Writes a folder as a `.mur.zip`. The same folder always gives the same bytes. */
import { createWriteStream, readdirSync, statSync } from "node:fs";
import { join, relative, sep } from "node:path";
import { pipeline } from "node:stream/promises";
import { ZipFile } from "yazl";

/**
 * Writes the archive of a folder. Names that begin with a dot are left out.
 *
 * @throws {Error} if the folder contains something that is neither a file nor a folder
 */
export async function writeArchive(folder: string, path: string): Promise<void> {
  const zip = new ZipFile();
  for (const file of filesBeneath(folder)) {
    const mode = (statSync(file).mode & 0o111) === 0 ? 0o100644 : 0o100755;
    zip.addFile(file, relative(folder, file).split(sep).join("/"), { mtime: new Date(0), mode });
  }
  zip.end();
  await pipeline(zip.outputStream, createWriteStream(path));
}

function filesBeneath(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true })
    .filter(({ name }) => !name.startsWith("."))
    .sort((one, other) => (one.name < other.name ? -1 : 1))
    .flatMap((entry) => {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) return filesBeneath(path);
      if (entry.isFile()) return [path];
      throw new Error(`${path} is neither a file nor a folder: replace it by a copy of what it points to`);
    });
}
