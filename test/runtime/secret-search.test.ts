import { expect, test } from "bun:test";
import fc from "fast-check";
import { createRedactor } from "../../src/runtime/redaction.ts";
import { begunAtEnd, occurrencesOf, Secret } from "../../src/runtime/secret.ts";

/** Texts of two letters: a token occurs in them often, and its beginning occurs everywhere. */
const of = (least: number, most: number) =>
  fc.string({ unit: fc.constantFrom("a", "b"), minLength: least, maxLength: most });

/** The same by the engine's own search. */
function plainly(token: string, text: string): { readonly places: number[]; readonly begun: number } {
  const places: number[] = [];
  for (let at = text.indexOf(token); at >= 0; at = text.indexOf(token, at + token.length)) places.push(at);
  let begun = Math.min(token.length - 1, text.length);
  while (!text.endsWith(token.slice(0, begun))) begun--;
  return { places, begun };
}

test("a token is found in full, and where its beginning is at the end", () => {
  fc.assert(
    fc.property(of(1, 8), of(0, 40), (token, text) => {
      const secret = new Secret(token);
      expect({ places: occurrencesOf(secret, text), begun: begunAtEnd(secret, text) }).toEqual(
        plainly(token, text),
      );
    }),
    { numRuns: 2000 },
  );
  fc.assert(
    fc.property(of(33, 80), of(0, 80), of(0, 80), of(0, 79), (token, before, between, after) => {
      const secret = new Secret(token);
      const text = before + token + between + token + after;
      expect({ places: occurrencesOf(secret, text), begun: begunAtEnd(secret, text) }).toEqual(
        plainly(token, text),
      );
    }),
  );
});

test("an answer that repeats the beginning of a child's token is read as quickly as any other", () => {
  // Comparing at every place would take minutes: more than the suite gives a test.
  const redactor = createRedactor([new Secret(`${"a".repeat(4096)}b${"a".repeat(4095)}`)]);
  const piece = Buffer.alloc(64 * 1024, "a");
  let passed = 0;
  for (let count = 0; count < 512; count++) passed += redactor.push(piece).length;
  expect(passed + redactor.end().length).toBe(512 * piece.length);
});
