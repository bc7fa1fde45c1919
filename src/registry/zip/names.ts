/**
 * The names of an entry, and whether it is the manifest. Some readers use the name in the directory, some the local one,
 * some the Unicode path next to either.
 */

import { ArchiveFault } from "./archive-fault.ts";
import { leadsToManifest } from "./unpacked-path.ts";

const MANIFEST_NAME = Buffer.from("murmur.yaml");

/** The names in a header. */
export interface Names {
  readonly name: Buffer;
  readonly unicodePath: Buffer | undefined;
}

export type Role =
  | "manifest"
  /** An unpacker may write it over the manifest. */
  | "another of that path"
  | "another file";

/** @throws ArchiveFault if the names contradict each other */
export function roleOf({ name, unicodePath }: Names): Role {
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
