/**
 * Where an entry lands on the disk of whoever unpacks the archive.
 *
 * Unpackers mend names: they drop what is not printable, the version after a `;`, empty components and dots, and on some
 * disks upper and lower case are one. So many names lead to one file, and only one entry may lead to the manifest.
 */

const MANIFEST = /^murmur\.yaml\.*(;\d*)?$/;

/** Whether an unpacker may write this entry to the root's `murmur.yaml`. Too many names are better than one too few. */
export function leadsToManifest(name: Buffer): boolean {
  const parts = name
    .toString("latin1")
    .replace(/[^!-~]/g, "")
    .toLowerCase()
    .split(/[/\\]/)
    .filter((part) => part !== "" && part !== ".");
  // Some go up at `..`, and some leave it out.
  return isManifest(parts.filter((part) => part !== "..")) || isManifest(wentUp(parts));
}

function isManifest(path: readonly string[]): boolean {
  const [only, ...others] = path;
  return only !== undefined && others.length === 0 && MANIFEST.test(only);
}

function wentUp(parts: readonly string[]): string[] {
  const path: string[] = [];
  for (const part of parts) {
    if (part === "..") path.pop();
    else path.push(part);
  }
  return path;
}
