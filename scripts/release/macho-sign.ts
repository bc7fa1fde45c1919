/**
 * Replaces the signature of a Mach-O executable by an ad-hoc one: `codesign --sign -` on a Linux machine.
 *
 * When Bun cross-compiles for darwin-x64, it changes the runtime's bytes but keeps the old signature, and macOS kills such
 * a file at launch. Source: `cs_blobs.h` of Apple's XNU, and what `codesign` writes. All numbers are big-endian.
 */
import { createHash } from "node:crypto";
import { fault, ok, type Result } from "../../src/result.ts";
import { entitlementsDer, entitlementsPlist } from "./entitlements.ts";
import { type MachOLayout, readMachOLayout } from "./macho-layout.ts";

type SigningRequest = {
  /** The name that the signature gives the program. */
  readonly identifier: string;
  /** Boolean entitlements to include; may be empty. */
  readonly entitlements: readonly string[];
};

const MAGIC = {
  requirements: 0xfade0c01,
  codeDirectory: 0xfade0c02,
  superBlob: 0xfade0cc0,
  cmsWrapper: 0xfade0b01,
  entitlements: 0xfade7171,
  derEntitlements: 0xfade7172,
} as const;

const SLOT = {
  codeDirectory: 0,
  requirements: 2,
  entitlements: 5,
  derEntitlements: 7,
  cmsWrapper: 0x10000,
} as const;

/** The version whose header ends with the executable segment's fields. */
const CODE_DIRECTORY_VERSION = 0x20400;
const CODE_DIRECTORY_BYTES = 88;
/** `CS_ADHOC`, without `CS_RUNTIME` (0x10000): the hardened runtime is for signatures with an identity. */
const FLAGS_ADHOC = 0x2;
const HASH_TYPE_SHA256 = 2;
const HASH_BYTES = 32;
const PAGE_SHIFT = 12;
const PAGE_BYTES = 1 << PAGE_SHIFT;
const EXEC_SEGMENT_MAIN_BINARY = 1n;
/** Apple silicon maps pages of 16 KiB. A segment that ends at such a page also ends at one of 4 KiB. */
const VM_PAGE_BYTES = 0x4000;

type Blob = { readonly slot: number; readonly bytes: Buffer };

/** @returns the signed file: the content with two load commands changed, and the new signature at its end. */
export function signAdHoc(file: Uint8Array, request: SigningRequest): Result<Buffer, string> {
  const source = Buffer.from(file.buffer, file.byteOffset, file.byteLength);
  const layout = readMachOLayout(source);
  if (!layout.ok) return layout;
  const { contentEnd } = layout.value;
  if (request.identifier === "" || request.identifier.includes("\0")) {
    return fault("the identifier must be a name");
  }

  const blobs = attachedBlobs(request);
  const signatureBytes = roundUp(measure(contentEnd, request.identifier, blobs), 16);
  const signed = Buffer.alloc(contentEnd + signatureBytes);
  source.copy(signed, 0, 0, contentEnd);
  // The load commands are content too, so change them before their page is hashed.
  updateLoadCommands(signed, layout.value, signatureBytes);
  const directory = codeDirectory(signed, layout.value, request.identifier, blobs);
  superBlob([{ slot: SLOT.codeDirectory, bytes: directory }, ...blobs]).copy(signed, contentEnd);
  return ok(signed);
}

/** The other blobs of the signature, in the order of their slots. */
function attachedBlobs(request: SigningRequest): readonly Blob[] {
  const blobs: Blob[] = [{ slot: SLOT.requirements, bytes: blob(MAGIC.requirements, Buffer.alloc(4)) }];
  if (request.entitlements.length > 0) {
    blobs.push(
      { slot: SLOT.entitlements, bytes: blob(MAGIC.entitlements, entitlementsPlist(request.entitlements)) },
      {
        slot: SLOT.derEntitlements,
        bytes: blob(MAGIC.derEntitlements, entitlementsDer(request.entitlements)),
      },
    );
  }
  // An ad-hoc signature has no certificate, so its wrapper is empty.
  blobs.push({ slot: SLOT.cmsWrapper, bytes: blob(MAGIC.cmsWrapper, Buffer.alloc(0)) });
  return blobs;
}

function blob(magic: number, content: Uint8Array): Buffer {
  const bytes = Buffer.alloc(8 + content.length);
  bytes.writeUInt32BE(magic, 0);
  bytes.writeUInt32BE(bytes.length, 4);
  bytes.set(content, 8);
  return bytes;
}

/** The super blob's size, computed before the code directory exists. */
function measure(contentEnd: number, identifier: string, blobs: readonly Blob[]): number {
  const { size } = directoryShape(contentEnd, identifier, blobs);
  const index = 12 + 8 * (blobs.length + 1);
  return blobs.reduce((total, { bytes }) => total + bytes.length, index + size);
}

/** Where the parts of the code directory are. Special slots count downwards from the first page's hash. */
function directoryShape(contentEnd: number, identifier: string, blobs: readonly Blob[]) {
  const pages = Math.ceil(contentEnd / PAGE_BYTES);
  const specialSlots = Math.max(...blobs.map(({ slot }) => (slot === SLOT.cmsWrapper ? 0 : slot)));
  const hashes = CODE_DIRECTORY_BYTES + Buffer.byteLength(identifier) + 1 + specialSlots * HASH_BYTES;
  return { pages, specialSlots, hashes, size: hashes + pages * HASH_BYTES };
}

function codeDirectory(
  file: Buffer,
  { contentEnd, text }: MachOLayout,
  identifier: string,
  blobs: readonly Blob[],
): Buffer {
  const shape = directoryShape(contentEnd, identifier, blobs);
  const bytes = Buffer.alloc(shape.size);
  bytes.writeUInt32BE(MAGIC.codeDirectory, 0);
  bytes.writeUInt32BE(bytes.length, 4);
  bytes.writeUInt32BE(CODE_DIRECTORY_VERSION, 8);
  bytes.writeUInt32BE(FLAGS_ADHOC, 12);
  bytes.writeUInt32BE(shape.hashes, 16);
  bytes.writeUInt32BE(CODE_DIRECTORY_BYTES, 20);
  bytes.writeUInt32BE(shape.specialSlots, 24);
  bytes.writeUInt32BE(shape.pages, 28);
  bytes.writeUInt32BE(contentEnd, 32);
  bytes.writeUInt8(HASH_BYTES, 36);
  bytes.writeUInt8(HASH_TYPE_SHA256, 37);
  bytes.writeUInt8(PAGE_SHIFT, 39);
  // Bytes 40 to 63 stay zero: no scatter vector, no team, and a code limit that fits 32 bits.
  bytes.writeBigUInt64BE(BigInt(text.offset), 64);
  bytes.writeBigUInt64BE(BigInt(text.size), 72);
  bytes.writeBigUInt64BE(EXEC_SEGMENT_MAIN_BINARY, 80);
  bytes.write(identifier, CODE_DIRECTORY_BYTES);
  for (const { slot, bytes: content } of blobs) {
    if (slot !== SLOT.cmsWrapper) sha256(content).copy(bytes, shape.hashes - slot * HASH_BYTES);
  }
  for (let page = 0; page < shape.pages; page++) {
    // The last page is hashed at its true length.
    const content = file.subarray(page * PAGE_BYTES, Math.min((page + 1) * PAGE_BYTES, contentEnd));
    sha256(content).copy(bytes, shape.hashes + page * HASH_BYTES);
  }
  return bytes;
}

function superBlob(blobs: readonly Blob[]): Buffer {
  const index = Buffer.alloc(4 + 8 * blobs.length);
  index.writeUInt32BE(blobs.length, 0);
  let offset = 8 + index.length;
  for (const [position, { slot, bytes }] of blobs.entries()) {
    index.writeUInt32BE(slot, 4 + 8 * position);
    index.writeUInt32BE(offset, 8 + 8 * position);
    offset += bytes.length;
  }
  return blob(MAGIC.superBlob, Buffer.concat([index, ...blobs.map(({ bytes }) => bytes)]));
}

function updateLoadCommands(file: Buffer, layout: MachOLayout, signatureBytes: number): void {
  const linkeditBytes = layout.contentEnd + signatureBytes - layout.linkeditOffset;
  file.writeUInt32LE(signatureBytes, layout.signatureCommand + 12);
  file.writeBigUInt64LE(BigInt(roundUp(linkeditBytes, VM_PAGE_BYTES)), layout.linkeditCommand + 32);
  file.writeBigUInt64LE(BigInt(linkeditBytes), layout.linkeditCommand + 48);
}

function sha256(bytes: Uint8Array): Buffer {
  return createHash("sha256").update(bytes).digest();
}

function roundUp(value: number, multiple: number): number {
  return Math.ceil(value / multiple) * multiple;
}
