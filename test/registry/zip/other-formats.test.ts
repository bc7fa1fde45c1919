import { describe, expect, test } from "bun:test";
import { refuseOtherFormats } from "../../../src/registry/zip/other-formats.ts";
import { atOnce } from "../../../src/slices.ts";
import { STORED, zipBytes } from "../../kit/zip-bytes.ts";
import { withFile } from "./held-file.ts";

const check = (bytes: Uint8Array) => withFile(bytes, (file) => atOnce(refuseOtherFormats(file)));

describe("a tar archive", () => {
  /** The first bytes of a ZIP archive, with a field for their sum; `byte` is in the rest, and `some`. */
  function block(
    byte: number,
    sum: (unsigned: number, signed: number) => string,
    some = Buffer.alloc(0),
  ): Buffer {
    const bytes = Buffer.alloc(512, byte);
    zipBytes([{ name: "x", content: "y", method: STORED }]).copy(bytes, 0, 0, 100);
    bytes.fill(" ", 148, 156);
    some.copy(bytes, 300);
    const unsigned = bytes.reduce((total, one) => total + one, 0);
    const signed = bytes.reduce((total, one) => total + ((one + 128) % 256) - 128, 0);
    bytes.write(sum(unsigned, signed), 148, "latin1");
    return bytes;
  }
  const octal = (number: number) => number.toString(8).padStart(6, "0");

  test.each<[string, Buffer]>([
    ["its sum", block(7, (sum) => `${octal(sum)}\0 `)],
    ["its sum behind blanks", block(7, (sum) => ` \0${octal(sum)}`)],
    ["its sum before other bytes", block(7, (sum) => `${octal(sum)}\0x`)],
    ["its sum of eight digits", block(7, (sum) => sum.toString(8).padStart(8, "0"))],
    ["its sum of unsigned bytes", block(200, (sum) => `${octal(sum)}\0 `)],
    ["its sum of signed bytes", block(7, (_, sum) => `${octal(sum)}\0 `, Buffer.alloc(9, 200))],
    ["its sum as a binary number", block(7, (sum) => binary(sum))],
  ])("is known by %s", (_, bytes) => {
    expect(() => check(bytes)).toThrow("it is also a tar archive");
    expect(() => check(Buffer.concat([bytes, Buffer.alloc(1000)]))).toThrow("it is also a tar archive");
    check(bytes.subarray(0, 511));
  });

  function binary(sum: number): string {
    const field = Buffer.from([0x80, 0, 0, 0, 0, 0, 0, 0]);
    field.writeInt32BE(sum, 4);
    return field.toString("latin1");
  }

  test("is not known by another sum, or by bytes that are no number", () => {
    for (const sum of [
      (right: number) => `${octal(right + 1)}\0 `,
      (right: number) => `${octal(right - 1)}\0 `,
      (right: number) => `${octal(right)}x `,
      (right: number) => `x${octal(right)}\0`,
      () => "\0\0\0\0\0\0\0\0",
      () => "        ",
      (right: number) => binary(right + 1),
    ]) {
      check(block(7, sum));
    }
  });
});

describe("an ISO 9660 image", () => {
  const image = (mark: string, at = 32_769) =>
    Buffer.concat([Buffer.alloc(at), Buffer.from(mark), Buffer.alloc(100)]);

  test("is known by its mark", () => {
    expect(() => check(image("CD001"))).toThrow("it is also an ISO 9660 image");
    expect(() => check(image("CD001").subarray(0, 32_774))).toThrow("it is also an ISO 9660 image");
  });

  test("is not known by another mark, another position, or a part of the mark", () => {
    check(image("CD002"));
    check(image("CD001", 32_768));
    check(image("CD001", 32_770));
    check(image("CD001").subarray(0, 32_773));
  });
});
