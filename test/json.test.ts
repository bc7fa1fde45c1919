/** JSON from other processes: read as `JSON.parse` reads it, but for keys that are whole numbers. */

import { heapSize } from "bun:jsc";
import { expect, test } from "bun:test";
import fc from "fast-check";
import { parseJson } from "../src/json.ts";

/** The value with the keys that `parseJson` gives it. */
function renamed(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(renamed);
  const rename = (key: string) => key.replace(/(^|")([0-9]{1,10})$/, "$1_$2");
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [rename(key), renamed(inner)]));
}

const KEY = fc.oneof(fc.string(), fc.stringMatching(/^["\\0-9: _]{0,6}$/), fc.nat().map(String));
const { value: VALUE } = fc.letrec((again) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.jsonValue(),
    fc.array(again("value"), { maxLength: 4 }),
    fc.dictionary(KEY, again("value"), { maxKeys: 4 }),
    KEY,
  ),
}));

test("every value comes through, with a sign before keys of a few digits", () => {
  fc.assert(
    fc.property(VALUE, fc.constantFrom(undefined, 1), (value, space) => {
      const text = JSON.stringify(value, undefined, space);
      expect(parseJson(text)).toEqual(renamed(JSON.parse(text)));
    }),
    { numRuns: 3000 },
  );
});

test("long texts of digits come through, as keys and as values", () => {
  // A search without a bound takes seconds for each, and then finds nothing.
  for (const length of [11, 200_000, 4_000_000]) {
    const digits = "3".repeat(length);
    for (const value of [digits, { [digits]: digits }, [`"${digits}`, digits]]) {
      expect(parseJson(JSON.stringify(value))).toEqual(value);
    }
  }
});

test("whatever is not JSON is refused, and nothing else", () => {
  const parses = (parse: (text: string) => unknown, text: string) => {
    try {
      parse(text);
      return true;
    } catch {
      return false;
    }
  };
  fc.assert(
    fc.property(fc.stringMatching(/^[{["\\0-9:,\]} ]{0,12}$/), (text) => {
      expect([text, parses(parseJson, text)]).toEqual([text, parses(JSON.parse, text)]);
    }),
    { numRuns: 5000 },
  );
});

/** Bytes that 2,000 objects with this key take, as `parse` makes them. */
function heapOf(parse: (text: string) => unknown, key: string): number {
  const text = `[${Array.from({ length: 2000 }, () => `{"${key}:0}`).join(",")}]`;
  // Twice: some of what earlier tests left is only freed then.
  Bun.gc(true);
  Bun.gc(true);
  const before = heapSize();
  const value = parse(text);
  Bun.gc(true);
  const taken = heapSize() - before;
  expect(value).toBeArrayOfSize(2000);
  return taken;
}

test("a key that is a whole number, however it is written, takes no more memory than another", () => {
  const nines = "\\u0039".repeat(3);
  for (const key of ['999"', '999" ', '999"\n\t', `${nines}"`, '9\\u00399"']) {
    expect([key, heapOf(JSON.parse, key) > 5e6]).toEqual([key, true]);
    expect([key, heapOf(parseJson, key) < 1e6]).toEqual([key, true]);
  }
});
