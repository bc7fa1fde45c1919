/** `checksums.txt`: what `sha256sum -c` reads, over the files of a release. */
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";

/** Lowercase hex SHA-256 of a file. */
export async function sha256OfFile(path: string): Promise<string> {
  return createHash("sha256")
    .update(await readFile(path))
    .digest("hex");
}

/**
 * One line for each file, sorted by name byte for byte, so that the order hangs on no locale.
 *
 * @param names plain file names in `directory`, without spaces or backslashes, which the format would escape
 */
export async function checksumLines(directory: string, names: readonly string[]): Promise<string> {
  const lines: string[] = [];
  for (const name of [...names].sort()) lines.push(`${await sha256OfFile(join(directory, name))}  ${name}\n`);
  return lines.join("");
}
