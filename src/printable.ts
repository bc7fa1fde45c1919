/** Makes text from outside safe for a terminal and for a log line. */

/**
 * Characters that are invisible, or that show text in the wrong place: control characters; line and paragraph separators;
 * format characters, which reorder a line or hide in a word (tag characters too); everything else that Unicode calls
 * default-ignorable (variation selectors, the combining grapheme joiner, Hangul fillers); lone surrogates; and the few
 * letters and symbols that look blank. White space is not included.
 */
const UNSEEN =
  "\\p{Cc}\\p{Cf}\\p{Cs}\\p{Zl}\\p{Zp}\\p{Default_Ignorable_Code_Point}\\u{2800}\\u{13441}\\u{13442}\\u{16fe4}\\u{1d159}";

const UNPRINTABLE = new RegExp(`[${UNSEEN}]`, "gu");

/** The text with every such character escaped as JSON escapes it: `\u001b`; a character above U+FFFF becomes two of these. */
export function printable(text: string): string {
  return text.replace(UNPRINTABLE, (character) =>
    character
      .split("")
      .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)
      .join(""),
  );
}

/** The same for a text of several lines; its line breaks stay. */
export function printableLines(text: string): string {
  return text.split(/\r?\n/).map(printable).join("\n");
}

/** Matches one character that is invisible or white space. */
export const BLANK = new RegExp(`^[${UNSEEN}\\s]$`, "u");
