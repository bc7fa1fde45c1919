/**
 * Whether a ZIP archive is also an archive of another format. Readers of many formats, such as bsdtar, would take it for
 * that one, whose marks stand where a ZIP archive may hold anything.
 *
 * An ordinary archive has neither mark: a checksum of its first bytes that it does not know of, and a word at one position.
 */

import { ArchiveFault, type HashedFile } from "./hashed-file.ts";

const TAR_BLOCK = 512;
const TAR_SUM_AT = 148;
const TAR_SUM_END = 156;

const ISO_MARK = "CD001";
const ISO_MARK_AT = 32_769;

/** @throws ArchiveFault */
export function* refuseOtherFormats(archive: HashedFile): Generator<void, void> {
  if (archive.size >= TAR_BLOCK && isTarHeader(yield* archive.peek(0, TAR_BLOCK))) {
    throw new ArchiveFault("it is also a tar archive");
  }
  if (archive.size < ISO_MARK_AT + ISO_MARK.length) return;
  const mark = yield* archive.peek(ISO_MARK_AT, ISO_MARK.length);
  if (mark.toString("latin1") === ISO_MARK) throw new ArchiveFault("it is also an ISO 9660 image");
}

/** A tar header has no signature that all readers ask for: they know it by the sum of its bytes, as unsigned or signed ones. */
function isTarHeader(block: Buffer): boolean {
  const written = writtenSum(block.subarray(TAR_SUM_AT, TAR_SUM_END));
  // The sum's own bytes count as blanks.
  const counted = Buffer.from(block).fill(" ", TAR_SUM_AT, TAR_SUM_END);
  const unsigned = counted.reduce((sum, byte) => sum + byte, 0);
  const signed = new Int8Array(counted).reduce((sum, byte) => sum + byte, 0);
  return written === unsigned || written === signed;
}

/** An octal number between blanks or NULs, or, with the highest bit set, a binary one. A field of blanks is a zero. */
function writtenSum(field: Buffer): number | undefined {
  if ((field[0] ?? 0) >= 0x80) return field.readInt32BE(4);
  const octal = /^[\0\t-\r ]*(?:([0-7]+)(?:[\0\t-\r ]|$)|$)/.exec(field.toString("latin1"));
  return octal ? Number.parseInt(octal[1] ?? "0", 8) : undefined;
}
