import { expect, test } from "bun:test";
import { BLANK, printable, printableLines } from "../src/printable.ts";

test("text stays as it is, in any script", () => {
  const text = "plain, üñí, 日本語, עברית, العربية, 😀, a\u00a0b, \\u001b";
  expect(printable(text)).toBe(text);
});

test("a character that moves the cursor, ends or reorders a line or is invisible is shown by its number", () => {
  const bidi = [
    0x061c, 0x200e, 0x200f, 0x202a, 0x202b, 0x202c, 0x202d, 0x202e, 0x2066, 0x2067, 0x2068, 0x2069,
  ];
  const lineEnds = [0x0a, 0x0d, 0x0b, 0x0c, 0x85, 0x2028, 0x2029];
  const controls = [0x00, 0x07, 0x08, 0x09, 0x1b, 0x7f, 0x90, 0x9b, 0x9f];
  const hidden = [0xad, 0x180e, 0x200b, 0x200c, 0x200d, 0x2060, 0x2064, 0xfeff, 0xfff9, 0xe0001, 0xe0041];
  const variations = [0x180b, 0xfe00, 0xfe0f, 0xe0100, 0xe01ef];
  const joiners = [0x034f, 0x17b4, 0x17b5, 0x2065, 0x206f];
  const blanks = [0x115f, 0x1160, 0x3164, 0xffa0, 0x2800, 0x16fe4, 0x1d159, 0x13441];
  const halves = [0xd800, 0xdfff];
  const unseen = [...hidden, ...variations, ...joiners, ...blanks, ...halves];
  for (const code of [...bidi, ...lineEnds, ...controls, ...unseen]) {
    const character = String.fromCodePoint(code);
    const shown = printable(`a${character}b`);
    expect(shown).toMatch(/^a(\\u[0-9a-f]{4}){1,2}b$/);
    // What a log holds in quotation marks can be read back.
    expect(JSON.parse(`"${shown}"`)).toBe(`a${character}b`);
  }
});

test("line breaks between lines are kept", () => {
  expect(printableLines("one\r\ntwo\u001b\n\nthree\r")).toBe("one\ntwo\\u001b\n\nthree\\u000d");
});

test("white space and invisible characters count as blank", () => {
  for (const character of [" ", "\n", "\u00a0", "\u3000", "\u200b", "\u3164", "\u{e0041}"]) {
    expect(BLANK.test(character)).toBe(true);
  }
  for (const character of ["a", "-", "\u0301", "😀", "ab", ""]) expect(BLANK.test(character)).toBe(false);
});
