/** Cuts UTF-8 text to a number of bytes, never inside a character. */

/** Keeps a byte order mark, so that the text is shown exactly as it was written. */
const DECODER = new TextDecoder("utf-8", { ignoreBOM: true });

/** The longest encoding of one character, in bytes. */
const LONGEST_SEQUENCE = 4;

/** How many of the first `limit` bytes make whole characters. If the bytes are not UTF-8, any cut will do. */
export function wholeCharacters(bytes: Uint8Array, limit: number): number {
  if (bytes.length <= limit) return bytes.length;
  for (let end = limit; end > limit - LONGEST_SEQUENCE && end > 0; end--) {
    if (!isContinuation(bytes[end])) return end;
  }
  return limit;
}

/** Decodes UTF-8; invalid bytes become U+FFFD. */
export function decodeUtf8(bytes: Uint8Array): string {
  return DECODER.decode(bytes);
}

/** What marks a cut. */
export const CUT_MARK = " […]";

/** At most `limit` bytes of the text, then the mark if it was cut. Does not cut the same text twice. */
export function cutText(text: string, limit: number): string {
  const bytes = Buffer.from(text);
  const own = text.endsWith(CUT_MARK) ? bytes.length - Buffer.byteLength(CUT_MARK) : bytes.length;
  if (own <= limit) return text;
  return `${decodeUtf8(bytes.subarray(0, wholeCharacters(bytes, limit)))}${CUT_MARK}`;
}

function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80;
}
