import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { formatFields } from "../../src/log/fields.ts";

const write = (text: string) => formatFields({ x: text }).slice("x=".length);

describe("a field", () => {
  test("is written unquoted if it is one plain word, and left out if it is absent", () => {
    expect(formatFields({ event: "spawn", session: undefined, used: 2, capsule: "local/a@1.0.0" })).toBe(
      "event=spawn used=2 capsule=local/a@1.0.0",
    );
    const path = "/a".repeat(128);
    expect(write(path)).toBe(path);
  });

  test("is quoted and escaped otherwise, so that it cannot forge a line or a field", () => {
    expect(write("a b")).toBe('"a b"');
    expect(write('x" event=register\n\u001b[2J')).toBe('"x\\" event=register\\n\\u001b[2J"');
    expect(write("")).toBe('""');
  });

  test("is at most 256 bytes as written, of any text, on one line, with a beginning and an end", () => {
    const text = fc.oneof(
      fc.string({ unit: "binary", maxLength: 2000 }),
      fc.string({ unit: fc.constantFrom("\u0000", '"', "\\", "\u{e0001}", "😀", "a", "é"), maxLength: 2000 }),
    );
    fc.assert(
      fc.property(text, (whole) => {
        const written = write(whole);
        expect(Buffer.byteLength(written)).toBeLessThanOrEqual(256);
        expect(written).not.toMatch(/\p{Cc}|\p{Cf}/u);
      }),
    );
    const path = `registry error for 'local/a/1.0.0': ${"/x".repeat(250)}: Too many open files (os error 24)`;
    expect(write(path)).toMatch(
      /^"registry error for 'local\/a\/1\.0\.0': (?:\/x)+\/?…\/?(?:x\/)+x: Too many open files \(os error 24\)"$/,
    );
  });

  test("that holds a token is logged only as a hash, however the token is written", () => {
    const token = `msc1.${"e".repeat(90)}.${"m".repeat(43)}`;
    for (const text of [
      token,
      token.toUpperCase(),
      `x ${token} y`,
      token.replace("msa1", "msc1"),
      token.replaceAll(".", "%2E"),
      token.replaceAll(".", "%252e"),
      token.replace("m", "%6d"),
      [...token].map((character) => `%${character.charCodeAt(0).toString(16)}`).join(""),
    ]) {
      expect(write(text)).toMatch(/^sha256:[0-9a-f]{16}$/);
    }
    expect(write("100%.msc")).toBe('"100%.msc"');
  });

  test("shows a long word as a hash, because a token without its tag looks like any other text", () => {
    const word = `${"e".repeat(90)}.${"m".repeat(43)}`;
    const hash = "sha256:[0-9a-f]{16}";
    for (const hidden of [
      word,
      word.replaceAll("e", "%65"),
      word.replaceAll("e", "&#101;"),
      "x".repeat(65),
      `c1.${word}`,
    ]) {
      expect(write(hidden)).toMatch(new RegExp(`^${hash}$`));
      expect(write(`registry error for 'local/a/${hidden}': /r/a-${hidden}.sha256: x`)).toMatch(
        new RegExp(`^"registry error for 'local/a/${hash}': /r/${hash}: x"$`),
      );
      for (const separator of [" ", "/", "@", ":", ",", "'", '"', "(", ")", "\n"]) {
        expect(write(`a${separator}${hidden}${separator}b`)).not.toContain(hidden);
      }
    }
    const shown = "x".repeat(64);
    expect(write(`${shown}/${shown}@${shown}`)).toBe(`${shown}/${shown}@${shown}`);
    expect(write("😀".repeat(60))).toBe(`"${"😀".repeat(60)}"`);
  });
});
