/** The texts of a manifest, as strings: how long they are, what they keep in memory, and where readers trim them alike. */

/** The longest entry of a list of texts, in bytes of UTF-8: each of them is compared with others. */
export const MAX_ENTRY_BYTES = 4096;

/** The text in memory of its own: a part of a string keeps the whole string, here the file, for as long as it is kept. */
export function ownText(text: string): string {
  return Buffer.from(text).toString();
}

/**
 * Whether the launcher would trim the text to another one. To JavaScript U+FEFF is white space and U+0085 is none; to
 * Unicode, and so to Rust, it is the other way round. Written as an escape, either may stand in a text.
 */
export function isTrimmedOtherwise(text: string, trimmed: string): boolean {
  const start = text.length - text.trimStart().length;
  const around = text.slice(0, start) + text.slice(start + trimmed.length);
  return around.includes("\ufeff") || trimmed.startsWith("\u0085") || trimmed.endsWith("\u0085");
}

export function isOverlong(text: string): boolean {
  // Three bytes are the most that one of a string's units takes.
  return text.length * 3 > MAX_ENTRY_BYTES && Buffer.byteLength(text) > MAX_ENTRY_BYTES;
}
