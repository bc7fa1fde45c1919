/**
 * Reads the manifest of a `.mur.zip` strictly, and unpacks nothing to disk.
 *
 * The launcher reads the same archive with another ZIP reader, and other unpackers write its files to disk. An archive
 * that could show different manifests to different readers is refused. Each file of this folder says whether an archive
 * of an ordinary archiver can be refused by its rules. By those in this file it cannot: such an archiver writes entries
 * one after another, with nothing before them but a line that starts a program, lists them in that order, gives each one
 * name, and packs every path once.
 */

import { type Directory, type Entry, entriesOf, readDirectory } from "./directory.ts";
import { ArchiveFault, type HashedFile } from "./hashed-file.ts";
import { checkLinks, isLink } from "./links.ts";
import {
  describesSameData,
  endsEntry,
  FLAG_DATA_DESCRIPTOR,
  hasOneSizeIfStored,
  LOCAL_BYTES,
  LONGEST_DESCRIPTOR,
  takeLocalHeader,
} from "./local-header.ts";
import { checkManifestEntry, unpackManifest } from "./manifest-entry.ts";
import { roleOf } from "./names.ts";
import { refuseOtherFormats } from "./other-formats.ts";
import { StrayHeaders } from "./stray-headers.ts";

/**
 * The bytes of the one `murmur.yaml` at the root of an archive.
 *
 * @throws ArchiveFault if the archive is broken, ambiguous or over a limit; also what `archive` throws
 */
export function* readArchivedManifest(archive: HashedFile): Generator<void, Uint8Array> {
  const directory = yield* readDirectory(archive);
  yield* refuseOtherFormats(archive);
  const { manifest: wanted, offsets, hasLinks, hasDescriptors } = yield* survey(directory);
  if (hasLinks) yield* checkLinks(directory);
  const strays = hasDescriptors ? new StrayHeaders(offsets) : undefined;
  if (strays) archive.watch((bytes) => strays.look(bytes));
  let manifest: Uint8Array | undefined;
  let index = 0;
  let before: Entry | undefined;
  for (const entry of entriesOf(directory)) {
    yield* takeUpTo(entry.offset, archive, before);
    yield* takeHeaderOf(entry, archive, directory);
    const end = archive.position + entry.compressedSize;
    if (end > directory.start) throw new ArchiveFault(OVERLAPS);
    if (index++ === wanted) {
      checkManifestEntry(entry);
      manifest = unpackManifest(yield* archive.take(entry.compressedSize), entry);
    }
    yield* archive.skipTo(end);
    before = entry;
    // There may be very many entries, each of them empty.
    yield;
  }
  yield* takeUpTo(directory.start, archive, before);
  if (!manifest) throw new ArchiveFault(NO_MANIFEST);
  if (strays) {
    // The comment is searched, too.
    yield* archive.skipTo(archive.size);
    if (yield* strays.areFound()) throw new ArchiveFault(STRAY);
  }
  return manifest;
}

const NO_MANIFEST = "it holds no murmur.yaml at its root";
const OVERLAPS = "one of its entries overlaps another part of it, or stands in another order than listed";
const STRAY =
  "a reader of streams would find another murmur.yaml in it: " +
  "pack it again with the sizes in the headers, as `npm run pack` and `zip` to a file do";

/**
 * What may stand before the first entry: a line that names the program to start. Anything more could be another archive. Even a
 * line could be one, if it did not begin with a path: `#!-lh5-` is the start of an LHA archive.
 */
const PREFIX = /^#![\t ]*\/[\t -~]*\n$/;
const MAX_PREFIX_BYTES = 255;

/**
 * Moves to the next header. A reader that ignores the directory goes from header to header, and would find an entry hidden
 * between two others. So only what belongs to the previous entry may be there.
 */
function* takeUpTo(position: number, archive: HashedFile, before: Entry | undefined): Generator<void, void> {
  const length = position - archive.position;
  if (length < 0) throw new ArchiveFault(OVERLAPS);
  if (!before) return yield* takePrefix(archive, length);
  const isOwn = length <= LONGEST_DESCRIPTOR && endsEntry(yield* archive.take(length), before);
  if (!isOwn) throw new ArchiveFault("there is other data after one of its entries");
}

function* takePrefix(archive: HashedFile, length: number): Generator<void, void> {
  if (length === 0) return;
  if (length > MAX_PREFIX_BYTES || !PREFIX.test((yield* archive.take(length)).toString("latin1"))) {
    throw new ArchiveFault("there is other data before its first entry");
  }
}

interface Survey {
  /** The index of the manifest's entry. */
  readonly manifest: number;
  /** The position of each local header. */
  readonly offsets: ReadonlySet<number>;
  readonly hasLinks: boolean;
  readonly hasDescriptors: boolean;
}

function* survey(directory: Directory): Generator<void, Survey> {
  let manifest: number | undefined;
  const offsets = new Set<number>();
  let hasLinks = false;
  let hasDescriptors = false;
  let leading = 0;
  let index = 0;
  for (const entry of entriesOf(directory)) {
    const role = roleOf(entry);
    if (role === "manifest") manifest = index;
    if (role !== "another file") leading++;
    offsets.add(entry.offset);
    hasLinks ||= isLink(entry);
    hasDescriptors ||= (entry.flags & FLAG_DATA_DESCRIPTOR) !== 0;
    index++;
    yield;
  }
  if (manifest === undefined) throw new ArchiveFault(NO_MANIFEST);
  if (leading > 1) throw new ArchiveFault("it holds two entries that unpack to murmur.yaml, or below it");
  return { manifest, offsets, hasLinks, hasDescriptors };
}

/** Moves to the data of an entry. Its local header must agree with the directory. */
function* takeHeaderOf(entry: Entry, archive: HashedFile, directory: Directory): Generator<void, void> {
  if (entry.offset + LOCAL_BYTES > directory.start) throw new ArchiveFault(OVERLAPS);
  const header = yield* takeLocalHeader(archive);
  const role = roleOf(entry);
  if (!header.name.equals(entry.name) || roleOf(header) !== role || !describesSameData(header, entry)) {
    const which = role === "manifest" ? "its murmur.yaml" : "one of its entries";
    throw new ArchiveFault(`the local header of ${which} differs from the directory`);
  }
  if (!hasOneSizeIfStored(header) || !hasOneSizeIfStored(entry)) {
    throw new ArchiveFault("one of its entries is stored as it is, but has two different sizes");
  }
}
