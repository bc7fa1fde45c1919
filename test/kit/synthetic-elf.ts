/** An ELF file with version needs and nothing else: two program headers, a dynamic section, and the names. */

/** Library to the versions needed of it. */
export type ElfNeeds = Readonly<Record<string, readonly string[]>>;

/** Memory addresses differ from file offsets, as they do in real files. */
const BASE = 0x200000;
const PROGRAM_HEADERS = 64;
const DYNAMIC = PROGRAM_HEADERS + 2 * 56;
const NEEDS = DYNAMIC + 4 * 16;

export function syntheticElf(needs: ElfNeeds): Uint8Array {
  const libraries = Object.entries(needs);
  const records = libraries.reduce((bytes, [, versions]) => bytes + 16 + 16 * versions.length, 0);
  const strings = NEEDS + records;
  let names = "\0";
  const nameAt = (name: string) => {
    const at = names.length;
    names += `${name}\0`;
    return at;
  };

  const file = Buffer.alloc(strings + 4096);
  let at = NEEDS;
  for (const [index, [library, versions]] of libraries.entries()) {
    const size = 16 + 16 * versions.length;
    file.writeUInt16LE(1, at);
    file.writeUInt16LE(versions.length, at + 2);
    file.writeUInt32LE(nameAt(library), at + 4);
    file.writeUInt32LE(16, at + 8);
    file.writeUInt32LE(index + 1 < libraries.length ? size : 0, at + 12);
    for (const [position, version] of versions.entries()) {
      const aux = at + 16 + 16 * position;
      file.writeUInt32LE(nameAt(version), aux + 8);
      file.writeUInt32LE(position + 1 < versions.length ? 16 : 0, aux + 12);
    }
    at += size;
  }
  file.write(names, strings, "latin1");

  file.write("\x7fELF\x02\x01\x01", 0, "latin1");
  file.writeUInt32LE(PROGRAM_HEADERS, 0x20);
  file.writeUInt16LE(56, 0x36);
  file.writeUInt16LE(2, 0x38);
  programHeader(file, 0, { type: 1, offset: 0, address: BASE, size: file.length });
  programHeader(file, 1, { type: 2, offset: DYNAMIC, address: BASE + DYNAMIC, size: 4 * 16 });
  const dynamic: readonly (readonly [number, number])[] = [
    [5, BASE + strings],
    [0x6ffffffe, BASE + NEEDS],
    [0x6fffffff, libraries.length],
    [0, 0],
  ];
  for (const [index, [tag, value]] of dynamic.entries()) {
    file.writeBigUInt64LE(BigInt(tag), DYNAMIC + 16 * index);
    file.writeBigUInt64LE(BigInt(value), DYNAMIC + 16 * index + 8);
  }
  return file.subarray(0, strings + names.length);
}

function programHeader(
  file: Buffer,
  index: number,
  header: { readonly type: number; readonly offset: number; readonly address: number; readonly size: number },
): void {
  const at = PROGRAM_HEADERS + 56 * index;
  file.writeUInt32LE(header.type, at);
  file.writeBigUInt64LE(BigInt(header.offset), at + 8);
  file.writeBigUInt64LE(BigInt(header.address), at + 16);
  file.writeBigUInt64LE(BigInt(header.size), at + 32);
}
