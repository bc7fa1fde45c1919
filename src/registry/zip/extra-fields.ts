/**
 * The extra fields of an entry: numbers too large for the header, and a second name.
 *
 * An ordinary archiver writes whole fields, each kind at most once, a Unicode path in UTF-8, zeros to fill up, no links, one
 * disk, and no other numbers than the header's. So its archives are refused here only for a file of exactly 4,294,967,295 bytes.
 */

import { isUtf8 } from "node:buffer";
import { ArchiveFault } from "./hashed-file.ts";

const ZIP64 = 0x0001;
const UNICODE_PATH = 0x7075;
/** libarchive's own: attributes that replace the entry's. To it alone, a file would be a link or a directory. */
const TYPE = 0x6c78;
/** ASi Unix: the mode of a file, behind a checksum. unzip takes it where the entry's attributes hold no mode. */
const ASI_UNIX = 0x756e;
const ASI_MODE_AT = 4;
const ASI_MODE_END = 6;
/** No type, a directory, a regular file. */
const ASI_TYPES = [0, 0o040000, 0o100000];
/** A version and the checksum of the name come before the path. */
const UNICODE_PATH_HEAD = 5;

/** The two fields that matter to this reader. */
export interface ExtraFields {
  /** The numbers that replace placeholders, in order. */
  readonly zip64: Buffer | undefined;
  /** The name that some readers use instead of the entry's name. */
  readonly unicodePath: Buffer | undefined;
}

/** @throws ArchiveFault if a field is cut off, occurs twice, makes the entry a link, or is read in several ways */
export function readExtraFields(extra: Buffer): ExtraFields {
  let zip64: Buffer | undefined;
  let unicodePath: Buffer | undefined;
  let at = 0;
  while (at + 4 <= extra.length) {
    const kind = extra.readUInt16LE(at);
    const end = at + 4 + extra.readUInt16LE(at + 2);
    if (end > extra.length) throw new ArchiveFault("an extra field of one of its entries is cut off");
    const field = extra.subarray(at + 4, end);
    if (kind === ZIP64) {
      if (zip64) throw new ArchiveFault("one of its entries has two sizes");
      zip64 = field;
    } else if (kind === UNICODE_PATH) {
      if (unicodePath) throw new ArchiveFault("one of its entries goes by two names");
      unicodePath = field.subarray(UNICODE_PATH_HEAD);
      // Some readers take overlong forms: C1 AD is another `m` to them.
      if (!isUtf8(unicodePath)) throw new ArchiveFault("the Unicode path of one of its entries is not UTF-8");
    } else if (kind === TYPE) {
      throw new ArchiveFault("an extra field of one of its entries says what type of file it is");
    } else if (kind === ASI_UNIX && !isOfPlainType(field)) {
      throw new ArchiveFault("an extra field of one of its entries may make it a link");
    }
    at = end;
  }
  // Up to three zeros may be left: some archivers use them to align the data. bsdtar takes no other bytes.
  if (extra.subarray(at).some((byte) => byte !== 0)) {
    throw new ArchiveFault("there are loose bytes after the extra fields of one of its entries");
  }
  return { zip64, unicodePath };
}

function isOfPlainType(asi: Buffer): boolean {
  return asi.length >= ASI_MODE_END && ASI_TYPES.includes(asi.readUInt16LE(ASI_MODE_AT) & 0o170000);
}

/** The value of a 32-bit field whose number is in the zip64 field. */
const PLACEHOLDER = 0xffffffff;
/** The same for the number of the disk, which has 16 bits, and 32 in the zip64 field. */
const DISK_PLACEHOLDER = 0xffff;

/**
 * The numbers of a header. Placeholders are replaced by the numbers of the zip64 field, in order. The field may hold more
 * numbers than are asked for: Python and Go write both sizes, or all three numbers. Some readers take all of them then, so
 * they must be the header's.
 *
 * @param disk the number of the disk, which comes last; a local header has none
 * @param areUnknown the sizes follow the data, and the header may have a 0 for each
 * @throws ArchiveFault if the zip64 field does not have them or has others, or if the disk is not the first one
 */
export function resolveZip64(
  numbers: readonly number[],
  zip64: Buffer | undefined,
  { disk = 0, areUnknown = false } = {},
): readonly number[] {
  let at = 0;
  const resolved = numbers.map((number) => {
    if (number !== PLACEHOLDER) return number;
    if (!zip64 || at + 8 > zip64.length) throw new ArchiveFault("one of its entries lacks its zip64 sizes");
    at += 8;
    const whole = Number(zip64.readBigUInt64LE(at - 8));
    // To unzip, it is still a placeholder when the next entry is read, whose numbers it then takes from wrong places.
    if (whole === PLACEHOLDER) {
      throw new ArchiveFault(
        `the zip64 sizes of one of its entries hold ${PLACEHOLDER}, which stands for another`,
      );
    }
    return whole;
  });
  const isLeftOut = disk === DISK_PLACEHOLDER && zip64 !== undefined && at + 4 <= zip64.length;
  if ((isLeftOut ? zip64.readUInt32LE(at) : disk) !== 0) throw new ArchiveFault("it is one part of several");
  if (zip64 && zip64.length !== at + (isLeftOut ? 4 : 0) && !holdsInOrder(zip64, resolved, areUnknown)) {
    throw new ArchiveFault("the zip64 field of one of its entries has other numbers than its header");
  }
  return resolved;
}

/** Whether the field has the first of these numbers, or all of them and the first disk's, whatever is asked for. */
function holdsInOrder(zip64: Buffer, numbers: readonly number[], areUnknown: boolean): boolean {
  const count = Math.floor(zip64.length / 8);
  const hasDisk = zip64.length === count * 8 + 4;
  if (count > numbers.length || (zip64.length % 8 !== 0 && !(hasDisk && count === numbers.length)))
    return false;
  if (hasDisk && zip64.readUInt32LE(count * 8) !== 0) return false;
  return numbers.slice(0, count).every((number, index) => {
    const held = Number(zip64.readBigUInt64LE(index * 8));
    return held === number || (areUnknown && (held === 0 || number === 0));
  });
}
