/** UTF-8 text cut to a number of bytes, on a character's boundary. */

/** A byte order mark is content like any other: what is shown is what was written. */
const DECODER = new TextDecoder("utf-8", { ignoreBOM: true });

/** The longest sequence of a character, in bytes. */
const LONGEST_SEQUENCE = 4;

/** How many of the first `limit` bytes make whole characters. In bytes that are no UTF-8 a cut can be anywhere. */
export function wholeCharacters(bytes: Uint8Array, limit: number): number {
  if (bytes.length <= limit) return bytes.length;
  for (let end = limit; end > limit - LONGEST_SEQUENCE && end > 0; end--) {
    if (!isContinuation(bytes[end])) return end;
  }
  return limit;
}

/** Bytes that are no UTF-8 become U+FFFD. */
export function decodeUtf8(bytes: Uint8Array): string {
  return DECODER.decode(bytes);
}

/** The mark of a cut. */
export const CUT_MARK = " […]";

/** The text, at most `limit` bytes of it, and the mark where that is not all. What was cut before stays as it is. */
export function cutText(text: string, limit: number): string {
  const bytes = Buffer.from(text);
  const own = text.endsWith(CUT_MARK) ? bytes.length - Buffer.byteLength(CUT_MARK) : bytes.length;
  if (own <= limit) return text;
  return `${decodeUtf8(bytes.subarray(0, wholeCharacters(bytes, limit)))}${CUT_MARK}`;
}

function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80;
}
