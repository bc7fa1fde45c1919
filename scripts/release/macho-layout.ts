/**
 * The parts of a Mach-O executable that signing needs: the load commands that point to the signature, and where the
 * file's content ends. Only 64-bit little-endian files that already have a signature, as both runtimes do.
 *
 * Source: `<mach-o/loader.h>`.
 */
import { fault, ok, type Result } from "../../src/result.ts";

export type MachOLayout = {
  /** File offset of `LC_CODE_SIGNATURE`. */
  readonly signatureCommand: number;
  /** File offset of `__LINKEDIT`'s `LC_SEGMENT_64`. */
  readonly linkeditCommand: number;
  readonly linkeditOffset: number;
  /** File offset of the old signature. Everything before it is content, and is kept. */
  readonly contentEnd: number;
  /** Where `__TEXT` is in the file. The signature calls it the executable segment. */
  readonly text: { readonly offset: number; readonly size: number };
};

const MAGIC_64 = 0xfeedfacf;
const EXECUTE = 2;
const HEADER_BYTES = 32;
const LC_SEGMENT_64 = 0x19;
const LC_CODE_SIGNATURE = 0x1d;
/** The smallest sizes of the two commands that are read. Others only need a complete header. */
const SMALLEST: ReadonlyMap<number, number> = new Map([
  [LC_SEGMENT_64, 72],
  [LC_CODE_SIGNATURE, 16],
]);

type Segment = {
  readonly at: number;
  readonly name: string;
  readonly address: number;
  readonly offset: number;
  readonly size: number;
};

export function readMachOLayout(file: Buffer): Result<MachOLayout, string> {
  if (file.length < HEADER_BYTES || file.readUInt32LE(0) !== MAGIC_64 || file.readUInt32LE(12) !== EXECUTE) {
    return fault("not a 64-bit Mach-O executable");
  }
  const end = HEADER_BYTES + file.readUInt32LE(20);
  if (end > file.length) return fault("the load commands run past the end of the file");

  const segments: Segment[] = [];
  const signatures: number[] = [];
  let at = HEADER_BYTES;
  for (let left = file.readUInt32LE(16); left > 0; left--) {
    const command = at + 8 <= end ? file.readUInt32LE(at) : 0;
    const size = at + 8 <= end ? file.readUInt32LE(at + 4) : 0;
    if (size < (SMALLEST.get(command) ?? 8) || at + size > end) {
      return fault("a load command is too short or too long");
    }
    if (command === LC_SEGMENT_64) segments.push(readSegment(file, at));
    if (command === LC_CODE_SIGNATURE) signatures.push(at);
    at += size;
  }
  return locate(file, segments, signatures);
}

function readSegment(file: Buffer, at: number): Segment {
  return {
    at,
    name: file.toString("latin1", at + 8, at + 24).replace(/\0+$/, ""),
    address: Number(file.readBigUInt64LE(at + 24)),
    offset: Number(file.readBigUInt64LE(at + 40)),
    size: Number(file.readBigUInt64LE(at + 48)),
  };
}

function locate(
  file: Buffer,
  segments: readonly Segment[],
  signatures: readonly number[],
): Result<MachOLayout, string> {
  const [signatureCommand, another] = signatures;
  if (signatureCommand === undefined || another !== undefined) {
    return fault("the file must have one LC_CODE_SIGNATURE to replace");
  }
  const text = segments.find(({ name }) => name === "__TEXT");
  const linkedit = segments.find(({ name }) => name === "__LINKEDIT");
  if (text === undefined || linkedit === undefined) return fault("the file has no __TEXT or no __LINKEDIT");
  if (segments.some(({ address, offset }) => address > linkedit.address || offset > linkedit.offset)) {
    return fault("__LINKEDIT is not the last segment, so it cannot change its size");
  }
  const contentEnd = file.readUInt32LE(signatureCommand + 8);
  const signatureEnd = contentEnd + file.readUInt32LE(signatureCommand + 12);
  // Anything after the old signature would be lost.
  if (signatureEnd !== file.length || linkedit.offset + linkedit.size !== file.length) {
    return fault("the old signature, __LINKEDIT and the file do not end at the same byte");
  }
  if (contentEnd < linkedit.offset || contentEnd % 16 !== 0) {
    return fault("the old signature is not in __LINKEDIT at a multiple of 16");
  }
  return ok({
    signatureCommand,
    linkeditCommand: linkedit.at,
    linkeditOffset: linkedit.offset,
    contentEnd,
    text: { offset: text.offset, size: text.size },
  });
}
