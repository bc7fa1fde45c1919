/**
 * The extra fields of an entry: numbers too large for the header, and a second name.
 *
 * An ordinary archiver writes whole fields, each kind at most once, a Unicode path in UTF-8, and no types. So its archives
 * are never refused here.
 */

import { isUtf8 } from "node:buffer";
import { ArchiveFault } from "./hashed-file.ts";

const ZIP64 = 0x0001;
const UNICODE_PATH = 0x7075;
/** libarchive's own: attributes that replace the entry's. To it alone, a file would be a link or a directory. */
const TYPE = 0x6c78;
/** A version and the checksum of the name come before the path. */
const UNICODE_PATH_HEAD = 5;

/** The two fields that matter to this reader. */
export interface ExtraFields {
  /** The numbers that replace placeholders, in order. */
  readonly zip64: Buffer | undefined;
  /** The name that some readers use instead of the entry's name. */
  readonly unicodePath: Buffer | undefined;
}

/** @throws ArchiveFault if a field is cut off, occurs twice, or is read in several ways */
export function readExtraFields(extra: Buffer): ExtraFields {
  let zip64: Buffer | undefined;
  let unicodePath: Buffer | undefined;
  // Up to three bytes may be left: some archivers use them to align the data.
  for (let at = 0; at + 4 <= extra.length; ) {
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
    }
    at = end;
  }
  return { zip64, unicodePath };
}

/** The value of a 32-bit field whose number is in the zip64 field. */
const PLACEHOLDER = 0xffffffff;

/**
 * The numbers of a header. Placeholders are replaced by the numbers of the zip64 field, in order.
 *
 * @throws ArchiveFault if the zip64 field does not have them
 */
export function resolveZip64(numbers: readonly number[], zip64: Buffer | undefined): readonly number[] {
  let at = 0;
  return numbers.map((number) => {
    if (number !== PLACEHOLDER) return number;
    if (!zip64 || at + 8 > zip64.length) throw new ArchiveFault("one of its entries lacks its zip64 sizes");
    at += 8;
    return Number(zip64.readBigUInt64LE(at - 8));
  });
}
