/** The largest manifests that are allowed, in every shape that could be slow to read. */

import { MAX_MANIFEST_BYTES } from "../../src/registry/manifest.ts";

const TOP = "name: a\nversion: 0.1.0\n";
const ALLOW = `${TOP}capabilities: {shell: {allow: [`;

/** Fills a manifest up to the largest size: `head`, then `part(0)`, `part(1)` and so on, then `tail`. ASCII only. */
function filled(part: (index: number) => string, head = TOP, tail = ""): string {
  const parts = [head];
  for (let length = head.length + tail.length, index = 0; ; index++) {
    const next = part(index);
    length += next.length;
    if (length > MAX_MANIFEST_BYTES) return parts.join("") + tail;
    parts.push(next);
  }
}

const short = (index: number) => index.toString(36);

/** By what they are full of. Each one can be read. */
export const LARGE_MANIFESTS = {
  "entries in brackets": filled(() => "a,", ALLOW, "]}}\n"),
  "entries in quotes": filled(() => "'',", ALLOW, "]}}\n"),
  "different entries": filled((index) => `${short(index)},`, ALLOW, "]}}\n"),
  "entries with dashes": filled(() => "  - a\n", `${TOP}capabilities:\n shell:\n  allow:\n`),
  keys: filled((index) => `k${short(index)}:\n`),
  "keys in braces": filled((index) => `${short(index)}: ,`, `${TOP}x: {`, "}\n"),
  "nested keys": filled((index) => `k${short(index)}:\n- a:\n`),
  "empty dashes": filled(() => "-\n", `${TOP}x:\n`),
  "deep dashes": filled(() => `${"- ".repeat(120)}a\n`, `${TOP}x:\n`),
  "deep brackets": filled(() => `${"[".repeat(120)}${"]".repeat(120)},`, `${TOP}x: [`, "]\n"),
  "empty brackets": filled(() => "[],", `${TOP}x: [`, "]\n"),
  "lines of a | block": filled(() => "  a\n", `${TOP}x: |\n`),
  "lines of a > block": filled((index) => (index % 3 === 0 ? "\n" : "  a\n"), `${TOP}x: >\n`),
  "empty lines": filled(() => "\n"),
  comments: filled(() => "#\n"),
  "commented brackets": filled(() => " #\n", `${TOP}x: [\n`, " a]\n"),
  escapes: filled(() => "\\n", `${TOP}x: "`, '"\n'),
  quotes: filled(() => "''", `${TOP}x: '`, "'\n"),
  spaces: filled(() => " a ", `${TOP}x:`, "\n"),
  artifacts: filled(() => "{capabilities: {state: {}}},", `${TOP}artifacts: [`, "]\n"),
  "all kinds of lines": filled(
    (index) =>
      `k${index}: {a: [b, "c\\n"], d: 'e', f: }\nl${index}:\n- x: |\n    a: b\n\n- - -v # c\n  - >-\n    d\n# e\n`,
  ),
} satisfies Record<string, string>;
