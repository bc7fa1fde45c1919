/**
 * The entry `murmur.yaml` at the root of an archive: checks and unpacks it.
 *
 * An ordinary archiver stores or deflates a manifest, as a file without a password. So its archives are refused here only
 * for a manifest that is too large, or that has a set-user, set-group or sticky bit.
 */

import { MAX_MANIFEST_BYTES } from "../manifest.ts";
import type { Entry } from "./directory.ts";
import { ArchiveFault } from "./hashed-file.ts";
import { STORED } from "./local-header.ts";

/** Deflate adds only a few bytes to what it cannot shrink, so a longer stream is an attack. */
const MAX_COMPRESSED_BYTES = 2 * MAX_MANIFEST_BYTES;

/** A volume's label, which unzip skips; a directory; a link of Windows. */
const DOS_NO_FILE = 0x8 | 0x10 | 0x400;
/** No type; a pipe, from an archiver that read its standard input; a regular file. */
const UNIX_TYPES = [0, 0o010000, 0o100000];
/** Set user, set group, sticky. On an Amiga they are the type, and 7z makes a directory. */
const UNIX_SPECIAL = 0o7000;
const ENCRYPTED = 0x1 | 0x40;
/** The data changes another file. */
const PATCH = 0x20;
/** The last version of the format, 6.3. Other readers refuse a later one, and to store or deflate 4.5 is enough. */
const LAST_VERSION = 63;
const DEFLATED = 8;

const TOO_LARGE = `its murmur.yaml is larger than ${MAX_MANIFEST_BYTES / 1024} KiB`;

/** @throws ArchiveFault unless the data is at most a few hundred KiB and all readers read it the same way */
export function checkManifestEntry(entry: Entry): void {
  if (!isFile(entry)) throw new ArchiveFault("its murmur.yaml is a directory, a link or a label");
  if ((entry.externalAttributes >>> 16) & UNIX_SPECIAL) {
    throw new ArchiveFault("its murmur.yaml has a set-user, set-group or sticky bit");
  }
  if (entry.flags & ENCRYPTED) throw new ArchiveFault("its murmur.yaml is encrypted");
  if (entry.flags & PATCH) throw new ArchiveFault("its murmur.yaml is a patch for another file");
  if (entry.neededVersion > LAST_VERSION) {
    throw new ArchiveFault("its murmur.yaml needs a later version of ZIP than 6.3");
  }
  if (entry.method !== STORED && entry.method !== DEFLATED) {
    throw new ArchiveFault(`its murmur.yaml uses compression method ${entry.method}`);
  }
  if (entry.uncompressedSize > MAX_MANIFEST_BYTES || entry.compressedSize > MAX_COMPRESSED_BYTES) {
    throw new ArchiveFault(TOO_LARGE);
  }
}

/** The text of an entry that was checked. */
export function unpackManifest(packed: Buffer, entry: Entry): Uint8Array {
  const text = entry.method === STORED ? packed : inflate(packed);
  if (text.length !== entry.uncompressedSize || Bun.hash.crc32(text) !== entry.crc32) {
    throw new ArchiveFault("its murmur.yaml does not match its size and checksum");
  }
  return text;
}

/** Unpackers create what an entry's attributes say, and some ignore which system the attributes are from. */
function isFile({ externalAttributes }: Entry): boolean {
  const unixType = (externalAttributes >>> 16) & 0o170000;
  return UNIX_TYPES.includes(unixType) && (externalAttributes & DOS_NO_FILE) === 0;
}

/** The limit holds while unpacking, whatever the header says. */
function inflate(packed: Buffer): Uint8Array {
  // Loaded here: it would slow down every start, and a start does not need it.
  const { inflateRawSync } = process.getBuiltinModule("node:zlib");
  let unpacked: InflateInfo;
  try {
    unpacked = inflateRawSync(packed, { maxOutputLength: MAX_MANIFEST_BYTES, info: true }) as never;
  } catch (error) {
    throw inflateFault(error);
  }
  if (unpacked.engine.bytesWritten !== packed.length) {
    throw new ArchiveFault("its murmur.yaml ends before its packed bytes do");
  }
  return unpacked.buffer;
}

/** The fault, or the error itself if the host is to blame. */
function inflateFault(error: unknown): unknown {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  if (code === "ERR_BUFFER_TOO_LARGE") return new ArchiveFault(TOO_LARGE);
  if (code === "Z_DATA_ERROR" || code === "Z_BUF_ERROR" || code === "Z_NEED_DICT") {
    return new ArchiveFault("its murmur.yaml does not unpack");
  }
  return error;
}

/** The result with `info`, which the runtime's types leave out: it says how much of the input was used. */
interface InflateInfo {
  readonly buffer: Uint8Array;
  readonly engine: { readonly bytesWritten: number };
}
