/**
 * The symbol versions that an ELF executable needs from its libraries. They are read from the dynamic segment, as the
 * dynamic loader does, and not from the sections, which do not matter at run time.
 *
 * Source: the ELF gABI (program headers, dynamic section) and the Linux Standard Base, "Symbol Versioning".
 */
import { fault, ok, type Result } from "../../src/result.ts";

export type VersionNeed = {
  /** The library, such as `libc.so.6`. */
  readonly library: string;
  /** The version, such as `GLIBC_2.17`. */
  readonly version: string;
};

const PT_LOAD = 1;
const PT_DYNAMIC = 2;
const DT_NULL = 0;
const DT_STRTAB = 5;
const DT_VERNEED = 0x6ffffffe;
const DT_VERNEEDNUM = 0x6fffffff;

/** Every version need of a 64-bit little-endian ELF file, in the file's order. */
export function readVersionNeeds(file: Uint8Array): Result<readonly VersionNeed[], string> {
  try {
    return read(new DataView(file.buffer, file.byteOffset, file.byteLength), file);
  } catch (error) {
    if (error instanceof RangeError) return fault("the ELF file is cut short or points outside itself");
    throw error;
  }
}

function read(view: DataView, file: Uint8Array): Result<readonly VersionNeed[], string> {
  if (view.getUint32(0) !== 0x7f454c46 || view.getUint8(4) !== 2 || view.getUint8(5) !== 1) {
    return fault("not a 64-bit little-endian ELF file");
  }
  const segments = readSegments(view);
  const dynamic = segments.find(({ type }) => type === PT_DYNAMIC);
  if (dynamic === undefined) return fault("the ELF file has no dynamic segment");

  const tags = readDynamic(view, dynamic.offset, dynamic.size);
  const fileOffset = (address: number): number => {
    const home = segments.find(
      ({ type, start, size }) => type === PT_LOAD && address >= start && address < start + size,
    );
    if (home === undefined) throw new RangeError(`address ${address} is in no segment`);
    return address - home.start + home.offset;
  };
  const strings = tags.get(DT_STRTAB);
  const needs = tags.get(DT_VERNEED);
  const count = tags.get(DT_VERNEEDNUM) ?? 0;
  if (strings === undefined || needs === undefined) return ok([]);
  return ok(readNeeds(view, file, fileOffset(needs), count, fileOffset(strings)));
}

type Segment = {
  readonly type: number;
  readonly offset: number;
  readonly start: number;
  readonly size: number;
};

function readSegments(view: DataView): Segment[] {
  const table = u64(view, 0x20);
  const entrySize = view.getUint16(0x36, true);
  return Array.from({ length: view.getUint16(0x38, true) }, (_, index) => {
    const at = table + index * entrySize;
    return {
      type: view.getUint32(at, true),
      offset: u64(view, at + 8),
      start: u64(view, at + 16),
      size: u64(view, at + 32),
    };
  });
}

function readDynamic(view: DataView, offset: number, size: number): Map<number, number> {
  const tags = new Map<number, number>();
  for (let at = offset; at < offset + size; at += 16) {
    const tag = u64(view, at);
    if (tag === DT_NULL) break;
    tags.set(tag, u64(view, at + 8));
  }
  return tags;
}

/** Reads `Elf64_Verneed` records, each with its chain of `Elf64_Vernaux`. Both link to the next by a relative offset. */
function readNeeds(
  view: DataView,
  file: Uint8Array,
  first: number,
  count: number,
  strings: number,
): VersionNeed[] {
  const needs: VersionNeed[] = [];
  let record = first;
  for (let index = 0; index < count; index++) {
    const library = text(file, strings + view.getUint32(record + 4, true));
    let aux = record + view.getUint32(record + 8, true);
    for (let left = view.getUint16(record + 2, true); left > 0; left--) {
      needs.push({ library, version: text(file, strings + view.getUint32(aux + 8, true)) });
      aux += view.getUint32(aux + 12, true);
    }
    record += view.getUint32(record + 12, true);
  }
  return needs;
}

function u64(view: DataView, at: number): number {
  return Number(view.getBigUint64(at, true));
}

function text(file: Uint8Array, at: number): string {
  const end = file.indexOf(0, at);
  if (at >= file.length || end < 0) throw new RangeError("a string runs past the end of the file");
  return Buffer.from(file.subarray(at, end)).toString("latin1");
}

/**
 * Start the daemon: "The published Linux x86_64 binaries need glibc 2.34 or newer".
 *
 * @param ceiling the newest version allowed, as `[major, minor]`
 * @returns the newest GLIBC version that is needed
 */
export function checkGlibc(
  needs: readonly VersionNeed[],
  ceiling: readonly [number, number],
): Result<string, string> {
  const limit = `GLIBC_${ceiling.join(".")}`;
  let newest: { readonly version: string; readonly rank: number } | undefined;
  for (const { library, version } of needs) {
    if (!version.startsWith("GLIBC_")) continue;
    const numbers = /^GLIBC_(\d+)\.(\d+)(?:\.(\d+))?$/.exec(version);
    // Names such as GLIBC_ABI_DT_RELR stand for a feature of a newer loader, GLIBC_PRIVATE for one exact build.
    if (numbers === null) return fault(`${library} must provide ${version}, which is not a plain version`);
    const rank = rankOf(Number(numbers[1]), Number(numbers[2]), Number(numbers[3] ?? 0));
    if (rank > rankOf(...ceiling, 0)) {
      return fault(`${library} must provide ${version}, and ${limit} is the newest that is promised`);
    }
    if (newest === undefined || rank > newest.rank) newest = { version, rank };
  }
  // These runtimes link glibc dynamically, so a file without a version was not read correctly.
  return newest === undefined ? fault("the file does not name any GLIBC version") : ok(newest.version);
}

function rankOf(major: number, minor: number, patch: number): number {
  return (major * 1000 + minor) * 1000 + patch;
}
