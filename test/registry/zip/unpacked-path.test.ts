import { expect, test } from "bun:test";
import { leadsToManifest } from "../../../src/registry/zip/names.ts";

test.each([
  "murmur.yaml",
  "murmur.yaml/",
  "MURMUR.yaml",
  "./murmur.yaml",
  "/murmur.yaml",
  "//murmur.yaml",
  ".//./murmur.yaml",
  "\\murmur.yaml",
  ".\\murmur.yaml",
  "../murmur.yaml",
  "x/../murmur.yaml",
  "x\\..\\Murmur.yaml",
  "murmur.yaml/..",
  "murmur.yaml;1",
  "murmur.yaml.",
  "murmur.yaml ",
  " murmur.yaml",
  "murmur\u0001.yaml",
  "mur\u007fmur.yaml",
  "murmur.yaml\n",
  "murmur\u200c.yaml",
  "C:murmur.yaml",
  "c:\\murmur.yaml",
  "//?/murmur.yaml",
  "\\\\?\\UNC\\murmur.yaml",
  "murmur.yaml:stream",
  "\u200c/murmur.yaml",
])("%j may be written to the manifest's path", (name) => {
  expect(leadsToManifest(Buffer.from(name))).toBe(true);
});

test.each([
  "tool.wasm",
  "murmur.yml",
  "examples/murmur.yaml",
  "examples/größe/murmur.yaml",
  ".hidden/murmur.yaml",
  "my examples/murmur.yaml",
  "murmur.yaml.orig",
  "my-murmur.yaml",
  "murmur.yaml/readme.md",
  "docs/",
])("%j is another path", (name) => {
  expect(leadsToManifest(Buffer.from(name))).toBe(false);
});
