import { expect, test } from "bun:test";
import { leadsToManifest } from "../../../src/registry/zip/names.ts";
import { NAMES_OF_MANIFEST, OTHER_NAMES } from "../../kit/manifest-names.ts";

test.each(NAMES_OF_MANIFEST)("%j may be written to the manifest's path", (name) => {
  expect(leadsToManifest(Buffer.from(name))).toBe(true);
});

test.each(OTHER_NAMES)("%j is another path", (name) => {
  expect(leadsToManifest(Buffer.from(name))).toBe(false);
});
