/**
 * The names of an entry, and whether it is the manifest. Some readers use the name in the directory, some the local one,
 * some the Unicode path next to either.
 */

import { isUtf8 } from "node:buffer";
import { ArchiveFault } from "./hashed-file.ts";

const MANIFEST = "murmur.yaml";
const MANIFEST_NAME = Buffer.from(MANIFEST);

/** The names in a header. */
export interface Names {
  readonly name: Buffer;
  readonly unicodePath: Buffer | undefined;
  readonly flags: number;
}

/** The name is UTF-8. */
const FLAG_UTF8 = 0x800;

export type Role =
  | "manifest"
  /** An unpacker may write it over the manifest, or make a directory in its place. */
  | "another of that path"
  | "another file";

/** @throws ArchiveFault if the names contradict each other */
export function roleOf({ name, unicodePath, flags }: Names): Role {
  // Some readers take overlong forms, where C1 AD is another `m`.
  if ((flags & FLAG_UTF8) !== 0 && !isUtf8(name)) {
    throw new ArchiveFault("the name of one of its entries is not UTF-8, as it says it is");
  }
  const names = unicodePath ? [name, unicodePath] : [name];
  // An unpacker may use the previous entry's name.
  if (names.some((one) => one.length === 0)) throw new ArchiveFault("one of its entries has no name");
  // A reader written in C ends the name at a NUL.
  if (names.some((one) => one.includes(0))) {
    throw new ArchiveFault("the name of one of its entries holds a NUL");
  }
  const exact = names.filter((one) => one.equals(MANIFEST_NAME)).length;
  if (exact === names.length) return "manifest";
  if (exact > 0) throw new ArchiveFault("one of its entries goes by two names");
  return names.some(leadsToManifest) ? "another of that path" : "another file";
}

/** What unpackers drop or replace. They keep bytes of other alphabets. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this looks for
const MENDED = /[\u0000-\u001f\u007f\\:;?*"<>|]|^ |[. ]$/;

/** Whether every unpacker writes this component the same way. */
function isPlain(component: string): boolean {
  return /[a-z0-9_]/.test(component) && !MENDED.test(component);
}

/** The name that Windows may give the manifest beside its own. It leads to the same file. */
const SHORT_NAME = /mu[a-z0-9]{0,4}~[0-9]+\.yam(?![a-z0-9_-])/g;

/**
 * Whether an unpacker may write this entry to the root's `murmur.yaml`, or below it.
 *
 * Unpackers change names, each in its own way. They drop unprintable characters, drive letters, the version after a `;`,
 * empty components and dots; some read `\` as `/`, and some disks ignore case. So a name that contains the manifest's
 * counts as the manifest, unless it clearly is another path: `examples/murmur.yaml`, `murmur.yaml.orig`.
 */
export function leadsToManifest(name: Buffer): boolean {
  const path = name.toString("latin1").toLowerCase();
  const printable = path.replace(/[^!-~]/g, "");
  const long = printable.replace(SHORT_NAME, MANIFEST);
  if (!long.includes(MANIFEST)) return false;
  // A directory's name ends with a slash.
  const components = (long === printable ? path : long).replace(/\/$/, "").split("/");
  if (!components.every(isPlain)) return true;
  return components[0]?.replace(/[^!-~]/g, "") === MANIFEST;
}

/** The same look at any bytes: the manifest's name, whatever the case, with or without unprintable characters in it. */
const MANIFEST_ANYWHERE = new RegExp(
  [...MANIFEST].map((one) => (one === "." ? "\\." : one)).join("[^!-~]*"),
  "gi",
);

/** Where in these bytes the manifest's name is written: pairs of start and end, in order. */
export function manifestNamesIn(bytes: Buffer): readonly (readonly [start: number, end: number])[] {
  const found = bytes.toString("latin1").matchAll(MANIFEST_ANYWHERE);
  return Array.from(found, ({ 0: name, index }) => [index, index + name.length]);
}
