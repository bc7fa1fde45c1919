/**
 * The symbolic links of an archive. Some unpackers write through a link that they have just made: with `d` linked to `.`,
 * the entry `d/murmur.yaml` lands at the root. So nothing else may have the path of a link, or lie below it.
 *
 * An ordinary archiver packs each path once, and nothing below a link. So its archives are refused here only if a path differs
 * from a link's only in what some disks or unpackers ignore, such as case, or if there is a link and a path longer than
 * the system's.
 */

import { isUtf8 } from "node:buffer";
import { type Directory, type Entry, entriesOf } from "./directory.ts";
import { ArchiveFault } from "./hashed-file.ts";

/** Unpackers create what an entry's attributes say, and some ignore which system the attributes are from. */
export function isLink({ externalAttributes }: Entry): boolean {
  return ((externalAttributes >>> 16) & 0o170000) === 0o120000;
}

/** @throws ArchiveFault if another entry has the path of a link, or one below it; the order does not matter */
export function* checkLinks(directory: Directory): Generator<void, void> {
  /** The path of each link, hashed, with the index of its entry. */
  const links = new Map<bigint, number>();
  let index = 0;
  for (const entry of entriesOf(directory)) {
    if (isLink(entry)) {
      for (const path of pathsOf(entry)) links.set([...parentsOf(path)].at(-1) ?? 0n, index);
    }
    index++;
    yield;
  }
  index = 0;
  for (const entry of entriesOf(directory)) {
    // Of two links at one path only the second is known, and refuses the first.
    if (pathsOf(entry).some((path) => isAnothers(links, path, index))) {
      throw new ArchiveFault("one of its entries has the path of a symbolic link, or one below it");
    }
    index++;
    yield;
  }
}

/** Whether another entry is a link at this path, or at one above it. */
function isAnothers(links: ReadonlyMap<bigint, number>, path: readonly string[], index: number): boolean {
  for (const parent of parentsOf(path)) {
    if ((links.get(parent) ?? index) !== index) return true;
  }
  return false;
}

/** Nothing can be created at a longer path, or under a longer name. So no name takes long to compare. */
const MAX_PATH_BYTES = 4096;
const MAX_COMPONENT = 255;

/** The components of the entry's paths, written the same way where an unpacker may write the same file. */
function pathsOf({ name, unicodePath }: Entry): string[][] {
  return (unicodePath ? [name, unicodePath] : [name]).map((bytes) => {
    const written = bytes.toString(isUtf8(bytes) ? "utf8" : "latin1").split(/[\\/]/);
    if (bytes.length > MAX_PATH_BYTES || written.some(({ length }) => length > MAX_COMPONENT)) {
      throw new ArchiveFault("it holds a symbolic link, and a path that is too long");
    }
    const components = written
      .flatMap((component) => component.normalize("NFKC").toLowerCase().split(/[\\/]/))
      .map((component) => component.replace(/\p{Cc}/gu, ""));
    // Some unpackers leave it out, some go up.
    if (components.includes("..")) throw new ArchiveFault("it holds a symbolic link, and a path with `..`");
    return components.map(plain).filter((component) => component !== "");
  });
}

/** Disks drop dots and blanks at the end of a name. */
function plain(component: string): string {
  let end = component.length;
  while (end > 0 && ". ".includes(component.charAt(end - 1))) end--;
  return component.slice(0, end);
}

/**
 * A path and all above it, the shortest first, each as a hash of 64 bits: a path of very many components costs no more than
 * its length. Two paths with one hash would only have an archive refused.
 */
function* parentsOf(path: readonly string[]): Generator<bigint> {
  let hash = 0n;
  for (const component of path) {
    hash = BigInt(Bun.hash(component, hash));
    yield hash;
  }
}
