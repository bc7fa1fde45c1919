/**
 * Where an unpacker may write an entry on disk.
 *
 * Unpackers change names, each in its own way. They drop unprintable characters, drive letters, the version after a `;`,
 * empty components and dots; some read `\` as `/`, and some disks ignore case. So a name that contains the manifest's
 * counts as the manifest, unless it clearly is another path: `examples/murmur.yaml`, `murmur.yaml.orig`.
 */

const MANIFEST = "murmur.yaml";

/** What unpackers drop or replace. They keep bytes of other alphabets. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this looks for
const MENDED = /[\u0000-\u001f\u007f\\:;?*"<>|]|^ |[. ]$/;

/** Whether every unpacker writes this component the same way. */
function isPlain(component: string): boolean {
  return /[a-z0-9_]/.test(component) && !MENDED.test(component);
}

/** Whether an unpacker may write this entry to the root's `murmur.yaml`. */
export function leadsToManifest(name: Buffer): boolean {
  const path = name.toString("latin1").toLowerCase();
  const printable = path.replace(/[^!-~]/g, "");
  if (!printable.includes(MANIFEST)) return false;
  // A directory's name ends with a slash.
  const components = path.replace(/\/$/, "").split("/");
  if (!components.every(isPlain)) return true;
  return components.length === 1 && printable.replace(/\/$/, "") === MANIFEST;
}
