/** ZIP archives written field by field, so that each field can lie. */

import { crc32, deflateRawSync } from "node:zlib";

/** One entry; a field that is left out tells the truth. */
export interface ZipEntry {
  readonly name: string | Uint8Array;
  readonly content?: string | Uint8Array;
  readonly method?: number;
  readonly flags?: number;
  /** The stored bytes, if they differ from the result of the method. */
  readonly packed?: Uint8Array;
  readonly crc?: number;
  readonly compressedSize?: number;
  readonly uncompressedSize?: number;
  /** In the directory only, these six. */
  readonly extra?: Uint8Array;
  readonly offset?: number;
  readonly disk?: number;
  /** Which system the attributes are from: 0 is DOS, 3 Unix. */
  readonly host?: number;
  readonly neededVersion?: number;
  readonly attributes?: number;
  /** What the local header says instead. */
  readonly local?: {
    readonly name?: string;
    readonly method?: number;
    readonly flags?: number;
    readonly crc?: number;
    readonly compressedSize?: number;
    readonly uncompressedSize?: number;
    readonly extra?: Uint8Array;
  };
  /** Bytes after the data: a data descriptor. */
  readonly descriptor?: Uint8Array;
}

/** The fields of the end record, if they are wrong. */
export interface ZipEnd {
  readonly entries?: number;
  readonly size?: number;
  readonly offset?: number;
  readonly comment?: string;
  readonly commentLength?: number;
  /** Put between the directory and the end record. */
  readonly gap?: Uint8Array;
  readonly prefix?: Uint8Array;
}

export const STORED = 0;
export const DEFLATED = 8;

export function zipBytes(entries: readonly ZipEntry[], end: ZipEnd = {}): Buffer {
  const parts: Uint8Array[] = [end.prefix ?? new Uint8Array(0)];
  let position = parts[0]?.length ?? 0;
  const directory: Buffer[] = [];
  for (const entry of entries) {
    const { name, method = DEFLATED, flags = 0, extra = new Uint8Array(0), local = {} } = entry;
    const content = Buffer.from(entry.content ?? "");
    const packed = entry.packed ?? (method === DEFLATED ? deflateRawSync(content) : content);
    const crc = entry.crc ?? crc32(content);
    const compressed = entry.compressedSize ?? packed.length;
    const uncompressed = entry.uncompressedSize ?? content.length;
    const localName = Buffer.from(local.name ?? name);
    const header = Buffer.alloc(30);
    header.writeUInt32LE(0x04034b50, 0);
    header.writeUInt16LE(20, 4);
    header.writeUInt16LE(local.flags ?? flags, 6);
    header.writeUInt16LE(local.method ?? method, 8);
    header.writeUInt32LE(local.crc ?? crc, 14);
    header.writeUInt32LE(local.compressedSize ?? compressed, 18);
    header.writeUInt32LE(local.uncompressedSize ?? uncompressed, 22);
    header.writeUInt16LE(localName.length, 26);
    const localExtra = local.extra ?? new Uint8Array(0);
    header.writeUInt16LE(localExtra.length, 28);
    const central = Buffer.alloc(46);
    const centralName = Buffer.from(name);
    central.writeUInt32LE(0x02014b50, 0);
    central.writeUInt16LE((entry.host ?? 0) * 256 + 20, 4);
    central.writeUInt16LE(entry.neededVersion ?? 20, 6);
    central.writeUInt16LE(flags, 8);
    central.writeUInt16LE(method, 10);
    central.writeUInt32LE(crc, 16);
    central.writeUInt32LE(compressed, 20);
    central.writeUInt32LE(uncompressed, 24);
    central.writeUInt16LE(centralName.length, 28);
    central.writeUInt16LE(extra.length, 30);
    central.writeUInt16LE(entry.disk ?? 0, 34);
    central.writeUInt32LE(entry.attributes ?? 0, 38);
    central.writeUInt32LE(entry.offset ?? position, 42);
    directory.push(central, centralName, Buffer.from(extra));
    const written = [header, localName, localExtra, packed, entry.descriptor ?? new Uint8Array(0)];
    parts.push(...written);
    position += written.reduce((sum, { length }) => sum + length, 0);
  }
  const central = Buffer.concat(directory);
  const record = Buffer.alloc(22);
  const comment = Buffer.from(end.comment ?? "");
  record.writeUInt32LE(0x06054b50, 0);
  record.writeUInt16LE(end.entries ?? entries.length, 8);
  record.writeUInt16LE(end.entries ?? entries.length, 10);
  record.writeUInt32LE(end.size ?? central.length, 12);
  record.writeUInt32LE(end.offset ?? position, 16);
  record.writeUInt16LE(end.commentLength ?? comment.length, 20);
  return Buffer.concat([...parts, central, end.gap ?? new Uint8Array(0), record, comment]);
}
