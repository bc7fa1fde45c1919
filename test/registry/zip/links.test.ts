import { expect, test } from "bun:test";
import { readDirectory } from "../../../src/registry/zip/directory.ts";
import { checkLinks } from "../../../src/registry/zip/links.ts";
import { atOnce } from "../../../src/slices.ts";
import { STORED, type ZipEntry, zipBytes } from "../../kit/zip-bytes.ts";
import { withFile } from "./held-file.ts";

const file = (name: ZipEntry["name"]): ZipEntry => ({
  name,
  content: "x",
  method: STORED,
  attributes: 0o100644 * 65536,
});
const link = (name: ZipEntry["name"]): ZipEntry => ({
  ...file(name),
  content: ".",
  attributes: 0o120777 * 65536,
});

const check = (...entries: readonly ZipEntry[]) =>
  withFile(zipBytes(entries), (archive) => atOnce(checkLinks(atOnce(readDirectory(archive)))));

const FAULT = "one of its entries has the path of a symbolic link, or one below it";

test.each([
  ["d", "d/murmur.yaml"],
  ["d", "d"],
  ["d", "d/"],
  ["d/", "d/murmur.yaml"],
  ["d", "d/e/f/murmur.yaml"],
  ["a/d", "a/d/murmur.yaml"],
  // One path to some unpackers or disks.
  ["d", "D/murmur.yaml"],
  ["D", "d"],
  ["./d", "d/murmur.yaml"],
  ["d", "./d//murmur.yaml"],
  ["d", "/d/murmur.yaml"],
  ["d", "d\\murmur.yaml"],
  ["d", "d./murmur.yaml"],
  ["d ", "d/murmur.yaml"],
  ["d", "d\x01/murmur.yaml"],
  ["é", "É/murmur.yaml"],
  ["\u00e9", "e\u0301/murmur.yaml"],
])("with a link at %j, no entry is at %j", (one, other) => {
  expect(() => check(link(one), file(other))).toThrow(FAULT);
  expect(() => check(file(other), link(one))).toThrow(FAULT);
  expect(() => check(file("first"), link(one), file("between"), link(other))).toThrow(FAULT);
});

test("beside a link, no path goes up, and none is longer than a system's", () => {
  for (const name of ["a/../d", "..", "a/\x01..", "a\\..\\d", "a/\u2025/d"]) {
    expect(() => check(link("m"), file(name))).toThrow("a path with `..`");
  }
  for (const name of ["x".repeat(256), "a/".repeat(2049)]) {
    expect(() => check(link("m"), file(name))).toThrow("a path that is too long");
  }
  check(link("m"), file("x".repeat(255)), file("a/".repeat(2048)), file("a..b/...c"));
});

test("a Unicode path is a path of its entry, too", () => {
  const extra = Buffer.from("\x75\x70\x06\x0012345d", "latin1");
  expect(() => check(link("d"), { ...file("e"), extra })).toThrow(FAULT);
  expect(() => check({ ...link("e"), extra }, file("d/x"))).toThrow(FAULT);
  expect(() => check({ ...link("e"), extra }, file("e/x"))).toThrow(FAULT);
  check({ ...link("d"), extra }, file("e"));
});

test("links stand beside other entries, and below folders", () => {
  check(link("d"));
  check(link("bin/d"), file("bin/"), file("bin/d2"), file("bin/e"), file("d"), file("d.txt"));
  check(link("a/b"), link("a/c"), link("b"), file("a/b2/c"), file("c/a/b"));
  check(link("日本"), file("中国"), file("中国/日本"));
  check(file("d"), file("d"), file("d/x"));
  // Names of another encoding are compared byte by byte.
  check(link(Buffer.from("\xe9", "latin1")), file(Buffer.from("\xe8", "latin1")));
});
