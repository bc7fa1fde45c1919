/**
 * The extra fields of an entry: numbers that do not fit their place, and a second name.
 *
 * An ordinary archiver writes whole fields, and each kind at most once.
 */

import { ArchiveFault } from "./archive-fault.ts";

const ZIP64 = 0x0001;
const UNICODE_PATH = 0x7075;
/** A version and the checksum of the name stand before the path. */
const UNICODE_PATH_HEAD = 5;

/** The fields that decide what an entry is; what stands in others is nothing to this reader. */
export interface ExtraFields {
  /** The numbers that a placeholder stands for, in their order. */
  readonly zip64: Buffer | undefined;
  /** The name that some readers take instead of the entry's own. */
  readonly unicodePath: Buffer | undefined;
}

/** @throws ArchiveFault where a field is cut off, or stands there twice */
export function readExtraFields(extra: Buffer): ExtraFields {
  let zip64: Buffer | undefined;
  let unicodePath: Buffer | undefined;
  // Up to three bytes may be left: some align the data with them.
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
    }
    at = end;
  }
  return { zip64, unicodePath };
}

/** What stands in a field of 32 bits where the number is in the zip64 field. */
const PLACEHOLDER = 0xffffffff;

/**
 * The numbers of a header: those that are placeholders are taken from the zip64 field, one after the other.
 *
 * @throws ArchiveFault where it does not hold them
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
