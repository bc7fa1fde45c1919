import { describe, expect, test } from "bun:test";
import { readExtraFields, resolveZip64 } from "../../../src/registry/zip/extra-fields.ts";

function field(kind: number, content: Uint8Array | readonly number[] | string, length?: number): Buffer {
  const bytes = typeof content === "string" ? Buffer.from(content) : Buffer.from(content);
  const head = Buffer.alloc(4);
  head.writeUInt16LE(kind, 0);
  head.writeUInt16LE(length ?? bytes.length, 2);
  return Buffer.concat([head, bytes]);
}

const numbers = (...values: number[]) => {
  const bytes = Buffer.alloc(8 * values.length);
  values.forEach((value, index) => {
    bytes.writeBigUInt64LE(BigInt(value), 8 * index);
  });
  return bytes;
};
const read = (...fields: readonly Uint8Array[]) => {
  const { zip64, unicodePath } = readExtraFields(Buffer.concat(fields));
  return [zip64?.toString(), unicodePath?.toString()];
};

describe("extra fields", () => {
  test("are read one after the other, of any kind", () => {
    expect(read()).toEqual([undefined, undefined]);
    expect(read(field(0x5455, "time"), field(1, "sizes"), field(0x7075, "12345path"))).toEqual([
      "sizes",
      "path",
    ]);
    expect(read(field(0x7075, "12345path"), field(2, "x"), field(0x7875, ""), field(1, "sizes"))).toEqual([
      "sizes",
      "path",
    ]);
    expect(read(field(2, "sizes"), field(0x7076, "12345path"))).toEqual([undefined, undefined]);
  });

  test("may leave up to three bytes at their end", () => {
    for (const left of [1, 2, 3]) expect(read(field(1, "sizes"), Buffer.alloc(left, 1))[0]).toBe("sizes");
    expect(() => read(field(1, "sizes"), Buffer.alloc(4, 1))).toThrow("is cut off");
  });

  test("are complete, and each of the two kinds that matter occurs at most once", () => {
    const cut = "an extra field of one of its entries is cut off";
    expect(() => read(field(1, "sizes", 6))).toThrow(cut);
    expect(() => read(field(9, "", 1))).toThrow(cut);
    expect(() => read(field(1, ""), field(1, "sizes"))).toThrow("one of its entries has two sizes");
    expect(() => read(field(0x7075, "12345path"), field(0x7075, "12345path"))).toThrow(
      "one of its entries goes by two names",
    );
    expect(read(field(9, "x"), field(9, "x"))).toEqual([undefined, undefined]);
  });

  test("hold a Unicode path that all readers of UTF-8 read the same way", () => {
    const path = (bytes: string) => read(field(0x7075, Buffer.from(`12345${bytes}`, "latin1")));
    expect(path("gr\xc3\xb6\xc3\x9fe")).toEqual([undefined, "größe"]);
    // Some readers take each of these for murmur.yaml.
    for (const overlong of ["\xc1\xadurmur.yaml", "murmur\xc0\xaeyaml", "\xe0\x81\xadurmur.yaml"]) {
      expect(() => path(overlong)).toThrow("the Unicode path of one of its entries is not UTF-8");
    }
    expect(() => path("gr\xf6\xdfe")).toThrow("is not UTF-8");
  });

  test("do not say what type of file an entry is", () => {
    // libarchive's field: which parts follow, and the attributes of a link.
    const link = field(0x6c78, [4, 0, 0, 0xff, 0xa1]);
    const type = "an extra field of one of its entries says what type of file it is";
    expect(() => read(link)).toThrow(type);
    expect(() => read(field(9, "x"), link)).toThrow(type);
  });
});

describe("the numbers of a header", () => {
  const LEFT = 0xffffffff;

  test("are its own, and the ones it leaves out come from the zip64 field in order", () => {
    expect(resolveZip64([1, 2, 3], undefined)).toEqual([1, 2, 3]);
    expect(resolveZip64([1, 2, 3], numbers(7))).toEqual([1, 2, 3]);
    expect(resolveZip64([LEFT, 2, LEFT], numbers(7, 8))).toEqual([7, 2, 8]);
    expect(resolveZip64([LEFT - 1, LEFT], numbers(2 ** 40))).toEqual([LEFT - 1, 2 ** 40]);
  });

  test("must all exist", () => {
    const lacks = "one of its entries lacks its zip64 sizes";
    expect(() => resolveZip64([LEFT], undefined)).toThrow(lacks);
    expect(() => resolveZip64([LEFT, LEFT], numbers(7))).toThrow(lacks);
    expect(() => resolveZip64([LEFT], numbers(7).subarray(0, 7))).toThrow(lacks);
  });
});
