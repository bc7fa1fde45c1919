/**
 * One entry out of a `.mur.zip`: `murmur.yaml` at its root, within limits, and nowhere near the disk.
 *
 * The launcher reads the same archive with another ZIP reader. Wherever a lying archive could show two readers two
 * manifests (a second entry of that name, a local header that disagrees with the directory, entries that overlap), it
 * is refused rather than read one way.
 */

import { crc32, inflateRawSync } from "node:zlib";
import { type Entry, type LocalFileHeader, parseExtraFields, type RandomAccessReader } from "yauzl";
import { ArchiveFault, broken } from "./archive-fault.ts";
import { MAX_MANIFEST_BYTES } from "./manifest.ts";
import {
  overlaps,
  readBytes,
  readZipDirectory,
  ZIP64_PLACEHOLDER,
  type ZipDirectory,
} from "./zip-directory.ts";

const MANIFEST_NAME = Buffer.from("murmur.yaml");
/** Deflate adds a few bytes to what it cannot shrink; a stream longer than this was made to be long. */
const MAX_COMPRESSED_BYTES = 2 * MAX_MANIFEST_BYTES;

const MADE_ON_UNIX = 3;
const DOS_DIRECTORY = 0x10;
const STORED = 0;
const DEFLATED = 8;
const FLAG_DATA_DESCRIPTOR = 0x8;
/** Encrypted, data descriptor, strongly encrypted: what decides how the data is read. */
const FLAGS_OF_DATA = 0x1 | FLAG_DATA_DESCRIPTOR | 0x40;
const ZIP64_FIELD = 0x0001;
const UNICODE_PATH_FIELD = 0x7075;

/**
 * The bytes of the one `murmur.yaml` at the root of an archive of `size` bytes.
 *
 * @throws ArchiveFault where the archive is broken, ambiguous or over a limit; whatever the reader threw otherwise
 */
export async function readManifestEntry(reader: RandomAccessReader, size: number): Promise<Uint8Array> {
  let manifest: Entry | undefined;
  const directory = await readZipDirectory(reader, size, (entry) => {
    if (!isManifest(entry)) return;
    if (manifest) throw new ArchiveFault("it holds two entries named murmur.yaml");
    manifest = entry;
  });
  if (!manifest) throw new ArchiveFault("it holds no murmur.yaml at its root");
  return extract(reader, directory, manifest);
}

async function extract(
  reader: RandomAccessReader,
  directory: ZipDirectory,
  entry: Entry,
): Promise<Uint8Array> {
  if (!isPlainFile(entry)) throw new ArchiveFault("its murmur.yaml is a directory or a link");
  if (entry.isEncrypted()) throw new ArchiveFault("its murmur.yaml is encrypted");
  if (entry.compressionMethod !== STORED && entry.compressionMethod !== DEFLATED) {
    throw new ArchiveFault(`its murmur.yaml uses compression method ${entry.compressionMethod}`);
  }
  if (entry.uncompressedSize > MAX_MANIFEST_BYTES || entry.compressedSize > MAX_COMPRESSED_BYTES) {
    throw new ArchiveFault(TOO_LARGE);
  }
  const header = await broken(directory.zip.readLocalFileHeaderPromise(entry));
  if (!agrees(header, entry)) {
    throw new ArchiveFault("the local header of its murmur.yaml differs from the directory");
  }
  const bytes = {
    start: entry.relativeOffsetOfLocalHeader,
    end: header.fileDataStart + entry.compressedSize,
  };
  if (overlaps(directory, bytes)) {
    throw new ArchiveFault("its murmur.yaml overlaps another part of the archive");
  }
  const packed = await readBytes(reader, header.fileDataStart, entry.compressedSize);
  const text = entry.compressionMethod === STORED ? packed : inflate(packed);
  if (text.length !== entry.uncompressedSize || crc32(text) !== entry.crc32) {
    throw new ArchiveFault("its murmur.yaml does not match its size and checksum");
  }
  return text;
}

const TOO_LARGE = `its murmur.yaml is larger than ${MAX_MANIFEST_BYTES / 1024} KiB`;

/** Whoever unpacks the archive makes of an entry what its attributes say. */
function isPlainFile({ versionMadeBy, externalFileAttributes }: Entry): boolean {
  const unixType = (externalFileAttributes >>> 16) & 0o170000;
  const isUnix = versionMadeBy >>> 8 === MADE_ON_UNIX;
  if (isUnix && unixType !== 0 && unixType !== 0o100000) return false;
  return (externalFileAttributes & DOS_DIRECTORY) === 0;
}

/** The limit holds while unpacking, whatever the header says. */
function inflate(packed: Uint8Array): Uint8Array {
  let unpacked: InflateInfo;
  try {
    unpacked = inflateRawSync(packed, { maxOutputLength: MAX_MANIFEST_BYTES, info: true }) as never;
  } catch (error) {
    const tooLarge = error instanceof Error && "code" in error && error.code === "ERR_BUFFER_TOO_LARGE";
    throw new ArchiveFault(tooLarge ? TOO_LARGE : "its murmur.yaml does not unpack");
  }
  if (unpacked.engine.bytesWritten !== packed.length) {
    throw new ArchiveFault("its murmur.yaml ends before its packed bytes do");
  }
  return unpacked.buffer;
}

/** What `info` adds, which the runtime's types leave out: how much of the input was used. */
interface InflateInfo {
  readonly buffer: Uint8Array;
  readonly engine: { readonly bytesWritten: number };
}

/**
 * Whether the entry is the manifest. Some readers go by the name in the directory, some by the Unicode path field
 * beside it: where one says `murmur.yaml`, both must.
 */
function isManifest(entry: Entry): boolean {
  // A reader in C ends a name there.
  if (entry.fileNameRaw.includes(0)) throw new ArchiveFault("the name of one of its entries holds a NUL");
  const byName = MANIFEST_NAME.equals(entry.fileNameRaw);
  for (const field of entry.extraFields) {
    // A version byte and the name's CRC stand before the path.
    if (field.id !== UNICODE_PATH_FIELD) continue;
    if (MANIFEST_NAME.equals(field.data.subarray(5)) !== byName) {
      throw new ArchiveFault("one of its entries goes by two names");
    }
  }
  return byName;
}

/** A reader that streams goes by the local header: it must tell the same story as the directory. */
function agrees(header: LocalFileHeader, entry: Entry): boolean {
  if (!MANIFEST_NAME.equals(header.fileName)) return false;
  if (header.compressionMethod !== entry.compressionMethod) return false;
  if ((header.generalPurposeBitFlag ^ entry.generalPurposeBitFlag) & FLAGS_OF_DATA) return false;
  if (header.generalPurposeBitFlag & FLAG_DATA_DESCRIPTOR) return true;
  const local = localSizes(header);
  return (
    header.crc32 === entry.crc32 &&
    local.compressed === entry.compressedSize &&
    local.uncompressed === entry.uncompressedSize
  );
}

/** A size that does not fit its field, or was not known to, stands in the zip64 field behind it. */
function localSizes({ compressedSize, uncompressedSize, extraField }: LocalFileHeader) {
  const large = parseExtraFields(extraField).find(({ id }) => id === ZIP64_FIELD)?.data;
  let at = 0;
  const sizeOf = (size: number): number => {
    if (size !== ZIP64_PLACEHOLDER || !large || large.length < at + 8) return size;
    at += 8;
    return Number(large.readBigUInt64LE(at - 8));
  };
  const uncompressed = sizeOf(uncompressedSize);
  return { uncompressed, compressed: sizeOf(compressedSize) };
}
