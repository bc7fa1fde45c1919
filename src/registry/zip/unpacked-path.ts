/**
 * Where an entry lands on the disk of whoever unpacks the archive.
 *
 * Unpackers mend names, each in its way: they drop what is not printable, drive letters, the version after a `;`, empty
 * components and dots; some take `\` for `/`, and some disks know no upper case. So a name that has the manifest's in it
 * is taken for it, unless it is plainly another path: `examples/murmur.yaml`, `murmur.yaml.orig`.
 */

const MANIFEST = "murmur.yaml";

/** What unpackers drop, or make something else of. Bytes of other alphabets are left alone. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this looks for
const MENDED = /[\u0000-\u001f\u007f\\:;?*"<>|]|^ |[. ]$/;

/** A component that every unpacker makes the same of. */
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
