/** Text from outside, made safe for a terminal and for a line of a log. */

/**
 * Control characters, what ends a line elsewhere, and format characters: the invisible ones that reorder a line, hide
 * in a word or carry text that nobody sees.
 */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** The text with every such character escaped as JSON escapes it: `\u001b`, and two of these above U+FFFF. */
export function printable(text: string): string {
  return text.replace(UNPRINTABLE, (character) =>
    character
      .split("")
      .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)
      .join(""),
  );
}
