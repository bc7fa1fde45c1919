import { expect, test } from "bun:test";
import { parseArtifactName, parseArtifactVersion } from "../../src/registry/artifact-name.ts";

const long = "a".repeat(100);

test.each(["local/a", "murmur/worker-a", "0/9", `${long}/${long}`, "a-b/c-d"])(
  "%p is a full name",
  (text) => {
    expect(parseArtifactName(text) as string | undefined).toBe(text);
  },
);

test.each([
  "",
  "a",
  "/",
  "a/",
  "/a",
  "a//b",
  "a/b/c",
  "A/b",
  "a/B",
  "a_b/c",
  "-a/b",
  "a-/b",
  "a/-b",
  "a/b-",
  "../b",
  "a/..",
  " a/b",
  "a/b\n",
  `${long}a/b`,
  `a/${long}a`,
  "é/b",
])("%p is not a full name", (text) => {
  expect(parseArtifactName(text)).toBeUndefined();
});

test.each(["0.1.0", "latest", "1", "...", "a b", "é", "v".repeat(128), "😀".repeat(128), "-"])(
  "%p is a version",
  (text) => {
    expect(parseArtifactVersion(text) as string | undefined).toBe(text);
  },
);

test.each([
  "",
  ".",
  "..",
  "a/b",
  "a\\b",
  "../1",
  "a\u0000",
  "a\nb",
  "\u007f",
  "\u0085",
  "\ud800",
  "v".repeat(129),
  "😀".repeat(129),
  `${"😀".repeat(65)}\ud83d`,
])("%p is not a version", (text) => {
  expect(parseArtifactVersion(text)).toBeUndefined();
});
