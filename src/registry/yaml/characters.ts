/** The characters that a manifest may hold, and the codes of those that mean something in YAML. */

import { YamlFault } from "./fault.ts";

export const TAB = 0x09;
export const LINE_FEED = 0x0a;
export const SPACE = 0x20;
export const DOUBLE_QUOTE = 0x22;
export const HASH = 0x23;
export const SINGLE_QUOTE = 0x27;
export const PLUS = 0x2b;
export const COMMA = 0x2c;
export const DASH = 0x2d;
export const DOT = 0x2e;
export const COLON = 0x3a;
export const GREATER = 0x3e;
export const QUESTION = 0x3f;
export const LIST_OPEN = 0x5b;
export const BACKSLASH = 0x5c;
export const LIST_CLOSE = 0x5d;
const MAP_OPEN = 0x7b;
export const PIPE = 0x7c;
export const MAP_CLOSE = 0x7d;

export function isOpening(code: number): boolean {
  return code === LIST_OPEN || code === MAP_OPEN;
}

export function isClosing(code: number): boolean {
  return code === LIST_CLOSE || code === MAP_CLOSE;
}

/** `, [ ] { }`: what ends a plain text inside brackets. */
export function isFlowIndicator(code: number): boolean {
  return code === COMMA || isOpening(code) || isClosing(code);
}

/**
 * Characters that are a line break to one reader and text to another (a comment that ends early may grant a
 * capability), and those that YAML does not allow at all.
 */
const REFUSED_CHARACTER =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this looks for
  /\r(?!\n)|[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u2028\u2029\ufeff\ufffe\uffff]/;
const LONE_SURROGATE = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/;

/**
 * The text with `\n` as its only line break.
 *
 * @throws YamlFault naming the first character that a manifest may not contain, and its line
 */
export function checkedCharacters(source: string): string {
  const found =
    REFUSED_CHARACTER.exec(source) ?? (source.isWellFormed() ? null : LONE_SURROGATE.exec(source));
  if (found) {
    const code = source.charCodeAt(found.index).toString(16).toUpperCase().padStart(4, "0");
    throw new YamlFault(
      `the character U+${code} is not allowed (line ${lineAt(source, found.index)}): remove it, or write it as an escape in double quotes`,
    );
  }
  return source.includes("\r") ? source.replaceAll("\r\n", "\n") : source;
}

function lineAt(source: string, offset: number): number {
  let line = 1;
  for (let at = source.indexOf("\n"); at !== -1 && at < offset; at = source.indexOf("\n", at + 1)) line++;
  return line;
}
