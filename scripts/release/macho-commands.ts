/**
 * Where a Mach-O executable's load commands put its segments and its signature, for the verifier. It shares no code with
 * the signer.
 */

/** File offsets or addresses, from the first byte to the one after the last. */
export type Range = { readonly from: number; readonly to: number };

export type Commands = {
  readonly segments: ReadonlyMap<string, { readonly file: Range; readonly memory: Range }>;
  readonly signature: Range;
};

/** @returns a sentence if the commands cannot be read, or do not name one signature */
export function readCommands(view: DataView): Commands | string {
  if (view.getUint32(0, true) !== 0xfeedfacf) return "the file is not a 64-bit Mach-O file";
  const segments = new Map<string, { file: Range; memory: Range }>();
  let signature: Range | undefined;
  const end = 32 + view.getUint32(20, true);
  let cursor = 32;
  for (let index = 0; index < view.getUint32(16, true); index++) {
    const kind = view.getUint32(cursor, true);
    const length = view.getUint32(cursor + 4, true);
    if (length < 8 || cursor + length > end) return "a load command runs past the others";
    if (kind === 0x19) {
      const name = new Uint8Array(view.buffer, view.byteOffset + cursor + 8, 16);
      segments.set(String.fromCharCode(...name).replaceAll("\0", ""), {
        memory: rangeAt(littleU64(view, cursor + 24), littleU64(view, cursor + 32)),
        file: rangeAt(littleU64(view, cursor + 40), littleU64(view, cursor + 48)),
      });
    }
    if (kind === 0x1d) {
      if (signature !== undefined) return "the file names two signatures";
      signature = rangeAt(view.getUint32(cursor + 8, true), view.getUint32(cursor + 12, true));
    }
    cursor += length;
  }
  return signature === undefined ? "the file names no signature" : { segments, signature };
}

/** The signature must end `__LINKEDIT`, and `__LINKEDIT` the file; no segment may be larger in the file than in memory. */
export function* segmentFaults(fileLength: number, { segments, signature }: Commands): Generator<string> {
  const linkedit = segments.get("__LINKEDIT");
  if (linkedit === undefined) {
    yield "the file has no __LINKEDIT";
    return;
  }
  if (signature.from % 16 !== 0) yield "the signature does not start at a multiple of 16";
  if (signature.from < linkedit.file.from) yield "the signature starts before __LINKEDIT";
  if (signature.to !== linkedit.file.to)
    yield `the signature ends at ${signature.to}, and __LINKEDIT at ${linkedit.file.to}`;
  if (linkedit.file.to !== fileLength)
    yield `__LINKEDIT ends at ${linkedit.file.to}, and the file at ${fileLength}`;
  const ordered = [...segments].sort(([, a], [, b]) => a.memory.from - b.memory.from);
  let previous = 0;
  for (const [name, { file, memory }] of ordered) {
    if (file.to > fileLength) yield `${name} ends after the end of the file`;
    if (memory.from < previous) yield `${name} overlaps the segment before it`;
    if (memory.to - memory.from < file.to - file.from) yield `${name} is smaller in memory than in the file`;
    previous = memory.to;
  }
}

export function rangeAt(from: number, length: number): Range {
  return { from, to: from + length };
}

function littleU64(view: DataView, at: number): number {
  return Number(view.getBigUint64(at, true));
}
