/**
 * Checks a Mach-O executable's embedded signature as a loader would: from the file alone, without sharing code with the
 * signer. Everything that macOS refuses at launch must be reported here as a fault.
 *
 * Source: `cs_blobs.h` and `ubc_subr.c` of Apple's XNU, `<mach-o/loader.h>`.
 */
import { readEntitlements } from "./entitlements-reader.ts";
import { type Commands, type Range, rangeAt, readCommands, segmentFaults } from "./macho-commands.ts";

/** What the signature says, and whether the file agrees. */
export type SignatureReport = {
  readonly identifier: string;
  /** The signer's team; empty for an ad-hoc signature. */
  readonly team: string;
  readonly version: number;
  readonly flags: number;
  readonly pageSize: number;
  /** File offset where the signed content ends. */
  readonly codeLimit: number;
  /** Page hashes from the code directory, in lowercase hex. */
  readonly pageHashes: readonly string[];
  readonly executableSegment: { readonly base: number; readonly limit: number; readonly flags: number };
  /** Boolean entitlements that are true. */
  readonly entitlements: readonly string[];
  /** One sentence for each fault; empty for a valid signature. */
  readonly faults: readonly string[];
};

/** What a release's signatures must say; compared with a report by {@link faultsAgainst}. */
type SignatureExpectation = Pick<
  SignatureReport,
  "identifier" | "team" | "version" | "flags" | "pageSize" | "entitlements"
>;

/** All faults of the signature itself, and all differences from what is expected. */
export function faultsAgainst(report: SignatureReport, expected: SignatureExpectation): readonly string[] {
  const faults = [...report.faults];
  for (const key of ["identifier", "team", "version", "flags", "pageSize"] as const) {
    if (report[key] !== expected[key]) faults.push(`${key} is '${report[key]}', expected '${expected[key]}'`);
  }
  const carried = [...report.entitlements].sort().join(", ");
  const wanted = [...expected.entitlements].sort().join(", ");
  if (carried !== wanted) faults.push(`the entitlements are [${carried}], expected [${wanted}]`);
  return faults;
}

/**
 * Reads and checks the signature of a 64-bit executable.
 *
 * @returns the report, or one sentence if there is no signature or it cannot be read
 */
export function verifyMachO(file: Uint8Array): SignatureReport | string {
  const view = new DataView(file.buffer, file.byteOffset, file.byteLength);
  try {
    const commands = readCommands(view);
    if (typeof commands === "string") return commands;
    return checkSignature(file, view, commands);
  } catch (error) {
    if (error instanceof RangeError) return "a field points outside the file";
    throw error;
  }
}

function checkSignature(file: Uint8Array, view: DataView, commands: Commands): SignatureReport | string {
  const slots = readSuperBlob(view, commands.signature);
  if (typeof slots === "string") return slots;
  const directory = readDirectory(file, view, slots.get(0));
  if (typeof directory === "string") return directory;
  const entitlements = readEntitlements(contentOf(file, slots.get(5)), contentOf(file, slots.get(7)));
  return {
    ...directory.says,
    entitlements: typeof entitlements === "string" ? [] : entitlements,
    faults: [
      ...segmentFaults(file.length, commands),
      ...directoryFaults(file, commands, directory),
      ...attachmentFaults(file, view, slots, directory),
      ...(typeof entitlements === "string" ? [entitlements] : []),
    ],
  };
}

/** What the code directory says. */
type Directory = {
  readonly says: Omit<SignatureReport, "entitlements" | "faults">;
  /** Whether what an ad-hoc signature has no use for is empty. */
  readonly hasNoMore: boolean;
  readonly namesTeam: boolean;
  /** File offset of the first page's hash. The special slots' hashes count downwards from there. */
  readonly hashes: number;
  readonly special: number;
};

function readDirectory(file: Uint8Array, view: DataView, range: Range | undefined): Directory | string {
  if (range === undefined || magicOf(view, range) !== 0xfade0c02) return "there is no code directory";
  const at = range.from;
  const field = (offset: number) => view.getUint32(at + offset);
  const version = field(8);
  const hashes = at + field(16);
  const special = field(24);
  const pages = field(28);
  if (view.getUint8(at + 36) !== 32 || view.getUint8(at + 37) !== 2) return "the hashes are not SHA-256";
  if (version < 0x20400) return "the code directory is too old to name its executable segment";
  if (hashes - special * 32 < at || hashes + pages * 32 > range.to) {
    return "the hashes do not fit the code directory";
  }
  return {
    says: {
      identifier: cString(file, at + field(20)),
      team: field(48) === 0 ? "" : cString(file, at + field(48)),
      version,
      flags: field(12),
      pageSize: 2 ** view.getUint8(at + 39),
      codeLimit: field(32),
      pageHashes: Array.from({ length: pages }, (_, page) => hex(file, hashes + page * 32)),
      executableSegment: {
        base: bigU64(view, at + 64),
        limit: bigU64(view, at + 72),
        flags: bigU64(view, at + 80),
      },
    },
    // Platform, scatter vector, 64-bit code limit and two spares.
    hasNoMore: view.getUint8(at + 38) === 0 && [40, 44, 52, 56, 60].every((offset) => field(offset) === 0),
    namesTeam: field(48) !== 0,
    hashes,
    special,
  };
}

/** The code directory must cover the whole content, hash each page as it is, and name `__TEXT` as the executable segment. */
function* directoryFaults(
  file: Uint8Array,
  { segments, signature }: Commands,
  { says, hasNoMore, namesTeam }: Directory,
): Generator<string> {
  const { team, codeLimit, pageSize, pageHashes, executableSegment } = says;
  if (!hasNoMore) yield "the code directory has something where it should be empty";
  if (namesTeam && team === "") yield "the code directory names a team without a name";
  if (codeLimit !== signature.from)
    yield `the code limit is ${codeLimit}, and the content ends at ${signature.from}`;
  const pages = pageHashes.length;
  if (pages !== Math.floor((codeLimit + pageSize - 1) / pageSize))
    yield `${pages} pages do not cover ${codeLimit} bytes`;
  const wrong = pageHashes.filter((hash, page) => {
    const start = page * pageSize;
    return hash !== sha256Hex(file.subarray(start, Math.min(start + pageSize, codeLimit)));
  });
  if (wrong.length > 0) yield `${wrong.length} of ${pages} page hashes do not match the file`;
  const text = segments.get("__TEXT")?.file;
  if (text === undefined || executableSegment.base !== text.from || executableSegment.limit !== text.to) {
    yield "the executable segment is not __TEXT";
  }
  if (executableSegment.flags !== 1)
    yield "the executable segment is not marked as the main program's, or as more than that";
}

/** The blobs' bytes by slot number. */
function readSuperBlob(view: DataView, signature: Range): ReadonlyMap<number, Range> | string {
  if (view.getUint32(signature.from) !== 0xfade0cc0) return "the signature is not a super blob";
  const end = signature.from + view.getUint32(signature.from + 4);
  if (end > signature.to) return "the super blob is longer than its load command says";
  const slots = new Map<number, Range>();
  let free = signature.from + 12 + 8 * view.getUint32(signature.from + 8);
  for (let index = 0; index < view.getUint32(signature.from + 8); index++) {
    const entry = signature.from + 12 + 8 * index;
    const start = signature.from + view.getUint32(entry + 4);
    const range = rangeAt(start, view.getUint32(start + 4));
    if (start < free || range.to > end) return "a blob overlaps another, or runs past the super blob";
    if (slots.has(view.getUint32(entry))) return "two blobs are in one slot";
    slots.set(view.getUint32(entry), range);
    free = range.to;
  }
  return slots;
}

/** Every attached blob must be of its kind and match the hash in its special slot. A slot without a blob is zero. */
function* attachmentFaults(
  file: Uint8Array,
  view: DataView,
  slots: ReadonlyMap<number, Range>,
  { hashes, special }: Directory,
): Generator<string> {
  const kinds = new Map([
    [2, 0xfade0c01],
    [5, 0xfade7171],
    [7, 0xfade7172],
    [0x10000, 0xfade0b01],
  ]);
  for (const [slot, range] of slots) {
    if (slot === 0) continue;
    if (kinds.get(slot) !== magicOf(view, range)) yield `the blob in slot ${slot} is not of its kind`;
    if (slot <= 7 && slot > special) yield `the blob in slot ${slot} is not covered by the code directory`;
  }
  for (let slot = 1; slot <= special; slot++) {
    const range = slots.get(slot);
    const expected = range === undefined ? "0".repeat(64) : sha256Hex(file.subarray(range.from, range.to));
    if (hex(file, hashes - slot * 32) !== expected) yield `the hash of slot ${slot} does not match its blob`;
  }
}

function contentOf(file: Uint8Array, range: Range | undefined): Uint8Array | undefined {
  return range === undefined ? undefined : file.subarray(range.from + 8, range.to);
}

function magicOf(view: DataView, range: Range): number {
  return view.getUint32(range.from);
}

function bigU64(view: DataView, at: number): number {
  return Number(view.getBigUint64(at));
}

function hex(file: Uint8Array, at: number): string {
  return file.subarray(at, at + 32).toHex();
}

function sha256Hex(bytes: Uint8Array): string {
  return new Bun.CryptoHasher("sha256").update(bytes).digest("hex");
}

function cString(file: Uint8Array, at: number): string {
  const end = file.indexOf(0, at);
  if (end < 0) throw new RangeError("a name without an end");
  return new TextDecoder().decode(file.subarray(at, end));
}
