/** `checksums.txt`: what `sha256sum -c` reads, over the files of a release. */
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fault, ok, type Result } from "../../src/result.ts";

/** Lowercase hex SHA-256 of a file. */
export async function sha256OfFile(path: string): Promise<string> {
  return createHash("sha256")
    .update(await readFile(path))
    .digest("hex");
}

/**
 * One line for each file, sorted by name byte for byte, so that the order is the same in every locale.
 *
 * @param names plain file names in `directory`, without spaces or backslashes, which the format would escape
 */
export async function checksumLines(directory: string, names: readonly string[]): Promise<string> {
  const lines: string[] = [];
  for (const name of [...names].sort()) lines.push(`${await sha256OfFile(join(directory, name))}  ${name}\n`);
  return lines.join("");
}

const LINE = /^([0-9a-f]{64}) [ *]([A-Za-z0-9][A-Za-z0-9._-]*)$/;
/** The prefix of this program's own files. */
const OWN = "mur-roost-";

/**
 * Reads another program's `checksums.txt`. The installer reads one file for both programs and installs both at the same
 * version, so every name must contain that version.
 *
 * @param path the file's name, for the fault
 * @returns its lines in the format of our file
 */
export function otherChecksums(text: string, path: string, version: string): Result<string[], string> {
  const lines: string[] = [];
  const names = new Set<string>();
  for (const [index, line] of text.split("\n").entries()) {
    if (line === "") continue;
    const [, sum, name] = LINE.exec(line) ?? [];
    const at = `${path}, line ${index + 1}`;
    if (sum === undefined || name === undefined) {
      return fault(`${at}: not a line of sha256sum: 64 hex digits, two spaces and a plain file name`);
    }
    if (name.startsWith(OWN)) return fault(`${at}: ${name} is a file of this release; take the line out`);
    if (!name.includes(`-${version}-`)) {
      return fault(`${at}: ${name} is not of version ${version}; release both programs at one version`);
    }
    if (names.has(name)) return fault(`${at}: ${name} is there twice; take one of the lines out`);
    names.add(name);
    lines.push(`${sum}  ${name}\n`);
  }
  return lines.length > 0 ? ok(lines) : fault(`${path}: it holds no checksums`);
}

/** Both programs' lines, sorted by name byte for byte. */
export function mergeChecksums(own: string, others: readonly string[]): string {
  const lines = [...own.split(/(?<=\n)/), ...others].filter((line) => line !== "");
  const nameOf = (line: string) => line.slice(line.indexOf(" "));
  return lines.sort((one, other) => (nameOf(one) < nameOf(other) ? -1 : 1)).join("");
}
