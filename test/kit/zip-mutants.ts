/** Archives that are nearly sound: each holds a manifest, and most of them lie somewhere. */

import { NAMES_OF_MANIFEST, OTHER_NAMES } from "./manifest-names.ts";
import type { Random } from "./random.ts";
import { DEFLATED, STORED, type ZipEnd, type ZipEntry, zipBytes } from "./zip-bytes.ts";

const MANIFEST = "murmur.yaml";

const NAMES = [...NAMES_OF_MANIFEST, ...OTHER_NAMES] as const;
const FLAGS = [0, 8, 0x800, 0x808, 1, 0x40, 0x2000] as const;
const METHODS = [STORED, DEFLATED, 9, 12] as const;
const ATTRIBUTES = [0, 0x10, 0o100644 * 65536, 0o120777 * 65536, 0o040755 * 65536, 0o010644 * 65536] as const;
/** DOS and others. With those of the second list, unzip looks for a mode in an extra field if the attributes hold none. */
const HOSTS = [0, 1, 3, 10] as const;
const HOSTS_OF_ASI = [2, 3, 5, 16, 30] as const;
const MODES = [0o120777, 0, 0o100644, 0o120777, 0o040755, 0o010644] as const;
const NUMBERS = [0, 1, 30, 0xffff, 0x7fffffff, 0xffffffff] as const;

/** One archive, the same for the same numbers. */
export function mutantArchive(random: Random): Buffer {
  const entries: ZipEntry[] = [];
  for (let others = random.below(4); others > 0; others--) {
    entries.push(soundEntry(random, random.pick(random.onceIn(2) ? NAMES : OTHER_NAMES)));
  }
  // Its text may be another file's name: as a link it would show that file.
  const other = entries[random.below(entries.length || 1)];
  const manifest = soundEntry(random, MANIFEST, random.onceIn(2) ? other?.name : undefined);
  entries.splice(random.below(entries.length + 1), 0, manifest);
  for (let lies = random.below(3); lies > 0; lies--) {
    const at = random.below(entries.length);
    const entry = entries[at];
    if (entry) entries[at] = { ...entry, ...lie(random, entry) };
  }
  const bytes = zipBytes(entries, random.onceIn(4) ? endLie(random) : {});
  return random.onceIn(3) ? damaged(random, bytes) : bytes;
}

function soundEntry(
  random: Random,
  name: string,
  content: ZipEntry["content"] = `name: ${"x".repeat(random.below(40))}${random.below(1000)}\n`,
): ZipEntry {
  const method = random.pick([STORED, DEFLATED]);
  const attributes = random.pick([0, 0o100644 * 65536]);
  const entry: ZipEntry = { name, content, method, attributes, host: random.pick(HOSTS) };
  if (!random.onceIn(4)) return entry;
  // As an archiver writes that does not know the sizes yet.
  const plain = zipBytes([entry]);
  const known = plain.subarray(14, 26);
  const signature = random.onceIn(2) ? Buffer.from("PK\x07\x08", "latin1") : Buffer.alloc(0);
  const zeros = { crc: 0, compressedSize: 0, uncompressedSize: 0 };
  return { ...entry, flags: 8, local: zeros, descriptor: Buffer.concat([signature, known]) };
}

function lie(random: Random, entry: ZipEntry): Partial<ZipEntry> {
  const { local = {} } = entry;
  const size = () => (random.onceIn(2) ? random.below(60) : random.pick(NUMBERS));
  switch (random.below(15)) {
    case 0:
      return { local: { ...local, name: random.pick(NAMES) } };
    case 1:
      return { extra: extraField(random) };
    case 2:
      return { local: { ...local, extra: extraField(random) } };
    case 3:
      return { flags: random.pick(FLAGS) };
    case 4:
      return { local: { ...local, flags: random.pick(FLAGS) } };
    case 5:
      return { method: random.pick(METHODS) };
    case 6:
      return { attributes: random.pick(ATTRIBUTES) };
    case 7:
      return { offset: size() };
    case 8:
      return { compressedSize: size() };
    case 9:
      return { uncompressedSize: size() };
    case 10:
      return { local: { ...local, compressedSize: size(), uncompressedSize: size() } };
    case 11:
      return { packed: zipBytes([soundEntry(random, MANIFEST)]) };
    case 12:
      return { attributes: 0, host: random.pick(HOSTS_OF_ASI), extra: asiField(random) };
    case 13:
      return random.onceIn(2) ? { disk: random.pick([1, 0xffff]) } : { neededVersion: random.below(256) };
    default:
      return { crc: random.below(2) };
  }
}

const UNICODE_PATH = 0x7075;
const ZIP64 = 0x0001;
const ASI_UNIX = 0x756e;

/** With a mode behind a checksum, which nobody compares. */
function asiField(random: Random): Buffer {
  const field = Buffer.alloc(4 + 14);
  field.writeUInt16LE(ASI_UNIX, 0);
  field.writeUInt16LE(random.onceIn(5) ? random.below(7) : 14, 2);
  field.writeUInt16LE(random.pick(MODES), 8);
  return field.subarray(0, 4 + field.readUInt16LE(2));
}

function extraField(random: Random): Buffer {
  if (random.onceIn(5)) return asiField(random);
  const value = random.onceIn(2)
    ? Buffer.concat([Buffer.from([1, 0, 0, 0, 0]), Buffer.from(random.pick(NAMES))])
    : Buffer.alloc(random.below(30), random.below(3));
  const field = Buffer.alloc(4 + value.length);
  field.writeUInt16LE(random.pick([UNICODE_PATH, ZIP64, 0x5455, 0]), 0);
  field.writeUInt16LE(random.onceIn(5) ? random.below(40) : value.length, 2);
  value.copy(field, 4);
  return random.onceIn(4) ? Buffer.concat([field, extraField(random)]) : field;
}

function endLie(random: Random): ZipEnd {
  const another = zipBytes([soundEntry(random, MANIFEST)]);
  switch (random.below(7)) {
    case 0:
      return { entries: random.below(4) };
    case 1:
      return { size: random.below(300) };
    case 2:
      return { offset: random.onceIn(2) ? random.below(300) : random.pick(NUMBERS) };
    case 3:
      return { comment: another.toString("latin1") };
    case 4:
      return {
        prefix: Buffer.concat(
          [Buffer.from(random.pick(["", "#!/bin/sh\n"])), another].slice(random.below(2)),
        ),
      };
    case 5:
      return { gap: random.onceIn(2) ? another : zip64Records(random) };
    default:
      return { commentLength: random.below(30) };
  }
}

/** A zip64 record and its locator, which hold what an archive of this size may hold, or nearly. */
function zip64Records(random: Random): Buffer {
  const records = Buffer.alloc(76);
  records.writeUInt32LE(0x06064b50, 0);
  records.writeBigUInt64LE(44n, 4);
  records.writeBigUInt64LE(BigInt(random.below(4)), 24);
  records.writeBigUInt64LE(BigInt(random.below(4)), 32);
  records.writeBigUInt64LE(BigInt(random.below(300)), 40);
  records.writeBigUInt64LE(BigInt(random.below(300)), 48);
  records.writeUInt32LE(0x07064b50, 56);
  records.writeBigUInt64LE(BigInt(random.below(400)), 64);
  records.writeUInt32LE(1, 72);
  return records;
}

function damaged(random: Random, bytes: Buffer): Buffer {
  const at = random.below(bytes.length);
  const length = random.below(30);
  switch (random.below(4)) {
    case 0:
      bytes[at] = random.below(256);
      return bytes;
    case 1:
      bytes[at] = (bytes[at] ?? 0) ^ (1 << random.below(8));
      return bytes;
    case 2:
      return Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + length)]);
    default:
      return Buffer.concat([bytes.subarray(0, at), bytes.subarray(at, at + length), bytes.subarray(at)]);
  }
}
