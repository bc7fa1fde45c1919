/** Text from outside, made safe for a terminal and for a line of a log. */

/**
 * What a reader does not see, or sees where it is not: control characters, what ends a line elsewhere, format
 * characters, which reorder a line or hide in a word (tag characters among them), every other character that Unicode
 * lets a program leave out (variation selectors, the combining grapheme joiner, Hangul fillers), halves of a surrogate
 * pair, and the few letters and symbols whose picture is blank. White space is none of these.
 */
const UNSEEN =
  "\\p{Cc}\\p{Cf}\\p{Cs}\\p{Zl}\\p{Zp}\\p{Default_Ignorable_Code_Point}\\u{2800}\\u{13441}\\u{13442}\\u{16fe4}\\u{1d159}";

const UNPRINTABLE = new RegExp(`[${UNSEEN}]`, "gu");

/** The text with every such character escaped as JSON escapes it: `\u001b`, and two of these above U+FFFF. */
export function printable(text: string): string {
  return text.replace(UNPRINTABLE, (character) =>
    character
      .split("")
      .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)
      .join(""),
  );
}

/** The same of a text of several lines, which stay lines. */
export function printableLines(text: string): string {
  return text.split(/\r?\n/).map(printable).join("\n");
}

/** Whether a reader sees nothing of a character, or only where it ends: white space counts. */
export const BLANK = new RegExp(`^[${UNSEEN}\\s]$`, "u");
