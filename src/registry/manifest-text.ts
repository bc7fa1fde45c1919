/** Texts of a manifest as strings: their length, their memory, and whether all readers trim them the same way. */

/** The longest entry of a list of texts, in bytes of UTF-8. It is limited because entries are compared with each other. */
export const MAX_ENTRY_BYTES = 4096;

/** A copy of the text. A part of a string keeps the whole string in memory, here the whole file. */
export function ownText(text: string): string {
  return Buffer.from(text).toString();
}

/**
 * Whether the launcher would trim the text differently. In JavaScript U+FEFF is white space and U+0085 is not; in Unicode,
 * and so in Rust, it is the other way round. A text may contain either one as an escape.
 */
export function isTrimmedOtherwise(text: string, trimmed: string): boolean {
  const start = text.length - text.trimStart().length;
  const around = text.slice(0, start) + text.slice(start + trimmed.length);
  return around.includes("\ufeff") || trimmed.startsWith("\u0085") || trimmed.endsWith("\u0085");
}

export function isOverlong(text: string): boolean {
  // A character of a string takes at most three bytes. Multiplying first saves most measurements.
  return text.length * 3 > MAX_ENTRY_BYTES && Buffer.byteLength(text) > MAX_ENTRY_BYTES;
}
