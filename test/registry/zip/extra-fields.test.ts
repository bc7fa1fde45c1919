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

  test("may leave up to three zeros at their end, and no other bytes", () => {
    for (const left of [1, 2, 3]) {
      expect(read(field(1, "sizes"), Buffer.alloc(left))[0]).toBe("sizes");
      expect(read(Buffer.alloc(left))).toEqual([undefined, undefined]);
      const loose = Buffer.alloc(left);
      loose[left - 1] = 1;
      expect(() => read(field(1, "sizes"), loose)).toThrow(
        "there are loose bytes after the extra fields of one of its entries",
      );
    }
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

  test("make no entry a link or a device by the mode that unzip takes from them", () => {
    const asi = (mode: number) => field(0x756e, [1, 2, 3, 4, mode % 256, mode >> 8, ...Buffer.alloc(8)]);
    for (const mode of [0, 0o644, 0o100644, 0o107777, 0o040755]) {
      expect(read(asi(mode), field(1, "sizes"))[0]).toBe("sizes");
    }
    const link = "an extra field of one of its entries may make it a link";
    for (const mode of [0o120777, 0o120000, 0o010644, 0o020644, 0o060644, 0o140644, 0o160000]) {
      expect(() => read(asi(mode))).toThrow(link);
      expect(() => read(asi(0o100644), asi(mode))).toThrow(link);
    }
    for (const length of [0, 1, 5]) expect(() => read(field(0x756e, Buffer.alloc(length)))).toThrow(link);
    expect(read(field(0x756e, Buffer.alloc(6)))).toEqual([undefined, undefined]);
  });
});

describe("the numbers of a header", () => {
  const LEFT = 0xffffffff;

  test("are its own, and the ones it leaves out come from the zip64 field in order", () => {
    expect(resolveZip64([1, 2, 3], undefined)).toEqual([1, 2, 3]);
    expect(resolveZip64([LEFT, 2, LEFT], numbers(7, 8))).toEqual([7, 2, 8]);
    expect(resolveZip64([LEFT - 1, LEFT], numbers(2 ** 40))).toEqual([LEFT - 1, 2 ** 40]);
  });

  test("may stand in a zip64 field that holds more of them, if they are the header's own", () => {
    const firstDisk = Buffer.alloc(4);
    for (const held of [
      numbers(1),
      numbers(1, 2),
      numbers(1, 2, 3),
      Buffer.concat([numbers(1, 2, 3), firstDisk]),
    ]) {
      expect(resolveZip64([1, 2, 3], held)).toEqual([1, 2, 3]);
    }
    expect(resolveZip64([LEFT, 2, 3], numbers(7, 2, 3))).toEqual([7, 2, 3]);
    expect(resolveZip64([LEFT, 2], numbers(7, 2))).toEqual([7, 2]);
    const others = "the zip64 field of one of its entries has other numbers than its header";
    for (const held of [
      numbers(7),
      numbers(1, 7),
      numbers(1, 2, 7),
      numbers(1, 2, 3, 4),
      Buffer.concat([numbers(1), firstDisk]),
      Buffer.concat([numbers(1, 2, 3), numbers(1).subarray(0, 4)]),
      Buffer.concat([numbers(1), Buffer.alloc(3)]),
    ]) {
      expect(() => resolveZip64([1, 2, 3], held)).toThrow(others);
    }
    expect(() => resolveZip64([LEFT, 2, 3], numbers(7, 8, 9))).toThrow(others);
    expect(() => resolveZip64([LEFT, 2], numbers(7, LEFT))).toThrow(others);
    expect(() => resolveZip64([1, 2, LEFT], numbers(1, 2, 3))).toThrow(others);
  });

  test("may be 0 in the zip64 field or the header where the sizes follow the data", () => {
    expect(resolveZip64([0, 0], numbers(7, 8), { areUnknown: true })).toEqual([0, 0]);
    expect(resolveZip64([7, 8], numbers(0, 0), { areUnknown: true })).toEqual([7, 8]);
    expect(() => resolveZip64([7, 8], numbers(0, 0))).toThrow("other numbers than its header");
    expect(() => resolveZip64([7, 8], numbers(7, 9), { areUnknown: true })).toThrow("other numbers");
  });

  test("are no placeholders once they are resolved", () => {
    const stands = "the zip64 sizes of one of its entries hold 4294967295, which stands for another";
    expect(() => resolveZip64([LEFT], numbers(LEFT))).toThrow(stands);
    expect(() => resolveZip64([LEFT, 2, LEFT], numbers(7, LEFT))).toThrow(stands);
    expect(resolveZip64([LEFT, LEFT], numbers(LEFT - 1, LEFT + 1))).toEqual([LEFT - 1, LEFT + 1]);
  });

  test("say that the entry is on the first disk, at once or in the zip64 field", () => {
    const parts = "it is one part of several";
    const disk = (number: number) => numbers(number).subarray(0, 4);
    expect(resolveZip64([1], undefined, { disk: 0 })).toEqual([1]);
    expect(resolveZip64([1], disk(0), { disk: 0xffff })).toEqual([1]);
    expect(resolveZip64([LEFT], Buffer.concat([numbers(7), disk(0)]), { disk: 0xffff })).toEqual([7]);
    for (const number of [1, 0xfffe, 0x100]) {
      expect(() => resolveZip64([1], disk(0), { disk: number })).toThrow(parts);
    }
    for (const zip64 of [undefined, Buffer.alloc(0), disk(0).subarray(1), disk(1), disk(0xffff)]) {
      expect(() => resolveZip64([1], zip64, { disk: 0xffff })).toThrow(parts);
    }
    expect(() => resolveZip64([LEFT], numbers(7), { disk: 0xffff })).toThrow(parts);
  });

  test("must all exist", () => {
    const lacks = "one of its entries lacks its zip64 sizes";
    expect(() => resolveZip64([LEFT], undefined)).toThrow(lacks);
    expect(() => resolveZip64([LEFT, LEFT], numbers(7))).toThrow(lacks);
    expect(() => resolveZip64([LEFT], numbers(7).subarray(0, 7))).toThrow(lacks);
  });
});
