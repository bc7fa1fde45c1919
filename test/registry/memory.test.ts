import { expect, test } from "bun:test";
import { type Entry, Memory } from "../../src/registry/memory.ts";

const entry = (resolution: string): Entry<string> => ({ state: "known", seen: [], resolution });

test("so many are remembered, and the one that was kept longest ago is forgotten first", () => {
  const memory = new Memory<string>(2);
  const [one, two, three] = [entry("1"), entry("2"), entry("3")];
  memory.keep("one", one);
  memory.keep("two", two);
  expect([memory.get("one"), memory.get("two")]).toEqual([one, two]);
  memory.keep("one", one);
  memory.keep("three", three);
  expect(["one", "two", "three"].map((key) => memory.get(key))).toEqual([one, undefined, three]);
});

test("what is kept anew takes the place of what was known, and no other's", () => {
  const memory = new Memory<string>(2);
  for (const key of ["one", "two", "two", "two"]) memory.keep(key, entry(key));
  const other = entry("other");
  memory.keep("two", other);
  expect(memory.get("one")).toEqual(entry("one"));
  expect(memory.get("two")).toBe(other);
});

test("an entry is forgotten unless another has taken its place", () => {
  const memory = new Memory<string>(2);
  const [one, other] = [entry("1"), entry("1")];
  memory.keep("key", one);
  memory.forget("key", other);
  expect(memory.get("key")).toBe(one);
  memory.forget("key", one);
  expect(memory.get("key")).toBeUndefined();
});
