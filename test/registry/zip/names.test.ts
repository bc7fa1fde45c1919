import { describe, expect, test } from "bun:test";
import { roleOf } from "../../../src/registry/zip/names.ts";

const role = (name: string, unicodePath?: string) =>
  roleOf({
    name: Buffer.from(name),
    unicodePath: unicodePath === undefined ? undefined : Buffer.from(unicodePath),
    flags: 0,
  });

describe("an entry", () => {
  test("is the manifest if each of its names is exactly the manifest's", () => {
    expect(role("murmur.yaml")).toBe("manifest");
    expect(role("murmur.yaml", "murmur.yaml")).toBe("manifest");
  });

  test("may land on the manifest by either of its names", () => {
    expect(role("Murmur.yaml")).toBe("another of that path");
    expect(role("./murmur.yaml")).toBe("another of that path");
    expect(role("tool.wasm", "MURMUR.YAML")).toBe("another of that path");
    expect(role("MURMUR.YAML", "tool.wasm")).toBe("another of that path");
  });

  test("is another file if neither of its names leads there", () => {
    expect(role("tool.wasm")).toBe("another file");
    expect(role("docs/murmur.yaml", "docs/murmur.yaml")).toBe("another file");
  });

  test("that is the manifest by one name only is refused", () => {
    const two = "one of its entries goes by two names";
    expect(() => role("murmur.yaml", "tool.wasm")).toThrow(two);
    expect(() => role("tool.wasm", "murmur.yaml")).toThrow(two);
  });

  test("has a name in both places, without a NUL in it", () => {
    const none = "one of its entries has no name";
    const nul = "the name of one of its entries holds a NUL";
    expect(() => role("")).toThrow(none);
    expect(() => role("tool.wasm", "")).toThrow(none);
    expect(() => role("tool\0.wasm")).toThrow(nul);
    expect(() => role("tool.wasm", "tool.wasm\0")).toThrow(nul);
  });

  test("whose name is said to be UTF-8 has no overlong form in it", () => {
    const name = Buffer.from("\xc1\xadurmur.yaml", "latin1");
    const said = { unicodePath: undefined, flags: 0x800 };
    expect(() => roleOf({ ...said, name })).toThrow("is not UTF-8, as it says it is");
    expect(roleOf({ ...said, name, flags: 0 })).toBe("another file");
    expect(roleOf({ ...said, name: Buffer.from("é.txt") })).toBe("another file");
  });
});
