import { expect, test } from "bun:test";
import { createIdMaker, directorySuffix, type IdSource, newId } from "../../src/runtime/wire.ts";

const FORM = /^(ses|dlg|ctx|tsk|msg|req|frm)_[0-9a-f]{12}7[0-9a-f]{3}[89ab][0-9a-f]{15}$/;

function source(times: readonly number[], byte: number): IdSource {
  let asked = 0;
  return {
    now: () => times[Math.min(asked++, times.length - 1)] ?? 0,
    randomBytes: (count) => new Uint8Array(count).fill(byte),
  };
}

test("an identifier is its prefix and a UUID of version 7 that starts with the time", () => {
  const make = createIdMaker(source([0x0192_abcd_ef01], 0xff));
  expect(make("ses")).toBe("ses_0192abcdef0177ffbfffffffffffffff");
  for (const prefix of ["ses", "dlg", "ctx", "tsk", "msg", "req", "frm"] as const) {
    expect(newId(prefix)).toMatch(FORM);
    expect(newId(prefix).startsWith(`${prefix}_`)).toBe(true);
  }
  const age = Date.now() - Number.parseInt(newId("dlg").slice(4, 16), 16);
  expect(Math.abs(age)).toBeLessThan(60_000);
});

test("each is greater than the last: within a millisecond, past the counter, with a clock set back", () => {
  const times = [...Array<number>(10_000).fill(5_000), 4_000, 3_000, 5_001, 5_002, 5_010, 5_009];
  const make = createIdMaker(source(times, 0xa5));
  const made = times.map(() => make("dlg"));
  expect(new Set(made).size).toBe(made.length);
  expect([...made].sort()).toEqual(made);
  for (const id of made) expect(id).toMatch(FORM);
});

test("the identifiers of this process sort in the order they were made, and none is repeated", () => {
  const made = Array.from({ length: 20_000 }, () => newId("msg"));
  expect(new Set(made).size).toBe(made.length);
  expect([...made].sort()).toEqual(made);
});

test("a directory's suffix is 16 lowercase hex digits, different each time", () => {
  expect(directorySuffix((count) => new Uint8Array(count).fill(0xab))).toBe("abababababababab");
  const many = new Set(Array.from({ length: 1000 }, () => directorySuffix()));
  expect(many.size).toBe(1000);
  for (const suffix of many) expect(suffix).toMatch(/^[0-9a-f]{16}$/);
});
