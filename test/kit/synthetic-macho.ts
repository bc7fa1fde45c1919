/** A Mach-O executable small enough to reason about: three segments, and a signature of junk to be replaced. */

export type MachOShape = {
  /** Bytes of signed content, headers included; at least 0x4000, where `__LINKEDIT` starts, and a multiple of 16. */
  readonly contentBytes: number;
  /** Bytes of the signature that is there already. */
  readonly oldSignatureBytes?: number;
};

export const LINKEDIT_OFFSET = 0x4000;

/** File offsets of the fields that a signer must change. */
export const FIELD = {
  linkeditMemorySize: 32 + 72 * 2 + 32,
  linkeditFileSize: 32 + 72 * 2 + 48,
  signatureSize: 32 + 72 * 3 + 12,
} as const;

export function syntheticMachO({ contentBytes, oldSignatureBytes = 100 }: MachOShape): Uint8Array {
  const file = new Uint8Array(contentBytes + oldSignatureBytes);
  // No two pages alike, so that a page hashed in another's place is noticed.
  for (let at = 0; at < file.length; at++) file[at] = (at * 31 + (at >> 8) * 17) & 0xff;
  const view = new DataView(file.buffer);
  const put32 = (at: number, ...values: number[]) => {
    for (const [index, value] of values.entries()) view.setUint32(at + 4 * index, value, true);
  };
  put32(0, 0xfeedfacf, 0x100000c, 0, 2, 4, 72 * 3 + 16, 0x200085, 0);
  segment(view, 32, { name: "__PAGEZERO", address: 0, memory: 0x100000000, offset: 0, size: 0 });
  segment(view, 32 + 72, {
    name: "__TEXT",
    address: 0x100000000,
    memory: LINKEDIT_OFFSET,
    offset: 0,
    size: LINKEDIT_OFFSET,
  });
  segment(view, 32 + 72 * 2, {
    name: "__LINKEDIT",
    address: 0x100000000 + LINKEDIT_OFFSET,
    memory: Math.ceil((file.length - LINKEDIT_OFFSET) / 0x4000) * 0x4000,
    offset: LINKEDIT_OFFSET,
    size: file.length - LINKEDIT_OFFSET,
  });
  put32(32 + 72 * 3, 0x1d, 16, contentBytes, oldSignatureBytes);
  return file;
}

function segment(view: DataView, at: number, { name, address, memory, offset, size }: SegmentFields): void {
  view.setUint32(at, 0x19, true);
  view.setUint32(at + 4, 72, true);
  for (let index = 0; index < 16; index++) view.setUint8(at + 8 + index, name.charCodeAt(index) || 0);
  for (const [index, value] of [address, memory, offset, size].entries()) {
    view.setBigUint64(at + 24 + 8 * index, BigInt(value), true);
  }
  for (let index = 0; index < 16; index += 4) view.setUint32(at + 56 + index, 0, true);
}

type SegmentFields = {
  readonly name: string;
  readonly address: number;
  readonly memory: number;
  readonly offset: number;
  readonly size: number;
};
