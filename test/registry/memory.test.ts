import { expect, test } from "bun:test";
import { type Entry, Memory } from "../../src/registry/lanes.ts";

const known = (bytes: number): Entry<string> => ({ state: "known", seen: [], resolution: "", bytes });
const beingRead: Entry<string> = {
  state: "being read",
  seen: [],
  seenAt: 0,
  hasBegun: () => true,
  result: new Promise(() => {}),
};
/** The keys that are still there. */
const keptOf = (memory: Memory<string>, keys: string) => [...keys].filter((key) => memory.get(key)).join("");

test("the most recently used values are kept while their bytes fit", () => {
  const memory = new Memory<string>({ kept: 9, keptBytes: 10 });
  for (const key of "abc") memory.keep(key, known(4));
  expect(keptOf(memory, "abc")).toBe("bc");
  memory.keep("d", known(10));
  expect(keptOf(memory, "abcd")).toBe("d");
  memory.keep("e", known(11));
  expect(keptOf(memory, "abcde")).toBe("");
});

test("a value that is replaced, forgotten or still being read takes no extra room", () => {
  const memory = new Memory<string>({ kept: 9, keptBytes: 10 });
  const entry = known(5);
  memory.keep("a", entry);
  memory.keep("b", known(5));
  for (let round = 0; round < 3; round++) memory.keep("a", entry);
  memory.keep("c", beingRead);
  expect(keptOf(memory, "abc")).toBe("abc");
  memory.forget("b", entry);
  expect(keptOf(memory, "abc")).toBe("abc");
  memory.forget("a", entry);
  memory.keep("d", known(5));
  expect(keptOf(memory, "abcd")).toBe("bcd");
});

test("only the allowed number of entries is kept, the most recently used ones", () => {
  const memory = new Memory<string>({ kept: 2, keptBytes: 10 });
  for (const key of "abac") memory.keep(key, known(0));
  expect(keptOf(memory, "abc")).toBe("ac");
  const none = new Memory<string>({ kept: 0, keptBytes: 10 });
  none.keep("a", known(0));
  expect(keptOf(none, "a")).toBe("");
});
