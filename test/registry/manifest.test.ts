import { describe, expect, test } from "bun:test";
import { readManifest } from "../../src/registry/manifest.ts";
import { readManifestAside } from "../../src/registry/manifest-reader.ts";

const HEAD = "name: a\nversion: 0.1.0\n";
const read = (source: string) => {
  const reading = readManifest(source);
  return reading.ok ? reading.manifest : reading.fault;
};

describe("a manifest", () => {
  test("keeps texts as they are written, and gives each key the type it wants", () => {
    const source = `name: 1.0\nversion: 0.10\ncapabilities:\n  env: {allow: [8080, yes, 0x1F, ~, null, "q", 'it''s', "\\u0041"]}\n  filesystem: {scope: "  a b ", workdir_exec: TRUE}\n`;
    expect(read(source)).toMatchObject({
      name: "1.0",
      version: "0.10",
      envAllow: ["8080", "yes", "0x1F", "~", "null", "q", "it's", "A"],
      filesystemScope: "a b",
      workdirExec: true,
    });
  });

  test("never looks a variable up", () => {
    process.env.MUR_ROOST_TEST_SECRET = "opened";
    const source = `${HEAD}capabilities: {shell: {allow: ['\${MUR_ROOST_TEST_SECRET}']}}\n`;
    expect(read(source)).toMatchObject({ shellAllow: [`\${MUR_ROOST_TEST_SECRET}`] });
  });

  test("may end its lines with CRLF, and its document with a marker", () => {
    expect(read(`---\r\nname: a\r\nversion: "1"\r\n...\r\n# done\r\n`)).toMatchObject({
      name: "a",
      version: "1",
    });
  });

  test.each([
    ["", "the manifest must be a mapping"],
    ["[]", "the manifest must be a mapping"],
    ["# nothing", "the manifest must be a mapping"],
    ["version: 1", "name: is required"],
    ["name: a", "version: is required"],
    ["name:\nversion: 1", "name: must not be blank"],
    ["name: [a]\nversion: 1", "name: must be a text"],
    [`${HEAD}capabilities: {shell: {allow: {}}}`, "capabilities.shell.allow: must be a list"],
    [`${HEAD}capabilities: {spawn: {allow: ""}}`, "capabilities.spawn.allow: must be a list"],
    [`${HEAD}capabilities: {shell: {allow: [[a]]}}`, "capabilities.shell.allow: every entry must be a text"],
    [`${HEAD}capabilities: {peer_fetch: x}`, "capabilities.peer_fetch: must be a mapping"],
    [
      `${HEAD}capabilities: {network: {unix_sockets: }}`,
      "capabilities.network.unix_sockets: must be true or false",
    ],
    [`${HEAD}capabilities: {filesystem: {scope: [a]}}`, "capabilities.filesystem.scope: must be a text"],
    [
      `${HEAD}capabilities: {containment: none}`,
      "capabilities.containment: must be one of advisory, scoped, sealed",
    ],
    [`${HEAD}artifacts: null`, "artifacts: must be a list"],
    [`${HEAD}artifacts: [{capabilities: {state: []}}]`, "artifacts[0].capabilities.state: must be a mapping"],
    [`${HEAD}a: 1\na: 2`, "a key for the second time in one mapping (line 4)"],
    [`${HEAD}x: {k: 1, "k": 2}`, "a key for the second time in one mapping (line 3)"],
    [`${HEAD}<<: {}\n<<: {}`, "a key for the second time in one mapping (line 4)"],
    [`${HEAD}x: &k k\ny: {k: 1, *k : 2}`, "a key for the second time in one mapping (line 4)"],
    [`${HEAD}? {a: b}\n: c`, "a list or a mapping used as a key (line 3)"],
    [`${HEAD}x: *nowhere`, "an alias without an anchor (line 3)"],
    [`${HEAD}x: &a [*a]`, "an alias inside its own anchor (line 3)"],
    [`${HEAD}---\n`, "more than one document (line 3)"],
    [`${HEAD}...\n---\n`, "more than one document (line 4)"],
    [`${HEAD}x: !!str y`, "a tag (!…) is not allowed (line 3)"],
    [`${HEAD}x: ! y`, "a tag (!…) is not allowed (line 3)"],
    [`%YAML 1.2\n---\n${HEAD}`, "a directive (%…) is not allowed (line 1)"],
    [`\ufeff${HEAD}`, "the character U+FEFF is not allowed (line 1)"],
    [`${HEAD}# a\rb`, "the character U+000D is not allowed (line 3)"],
    [`${HEAD}x: "a\u2028b"`, "the character U+2028 is not allowed (line 3)"],
    [`${HEAD}# \u0000`, "the character U+0000 is not allowed (line 3)"],
    [`${HEAD}x: ${"[".repeat(127)}${"]".repeat(127)}`, "nested deeper than 127 levels (line 3)"],
    [`${HEAD}x: |\n  a`, "a block of text without a line break at the end of the file (line 3)"],
    [`${HEAD}x: >+\n  a\n  `, "a block of text without a line break at the end of the file (line 3)"],
    [`${HEAD}x: >-2\n   a\n`, "a block of text with an indentation indicator (line 3)"],
    [`${HEAD}capabilities:\n\tshell: {}`, "a tab used as indentation (line 4)"],
  ])("%j is refused with the line or the key at fault", (source, fault) => {
    expect(read(source)).toBe(fault);
  });

  test("may nest 127 levels, and aliases count where they are used", () => {
    expect(read(`${HEAD}x: ${"[".repeat(126)}${"]".repeat(126)}`)).toMatchObject({ name: "a" });
    expect(
      read(`${HEAD}x: &d ${"[".repeat(100)}${"]".repeat(100)}\ny: ${"[".repeat(30)}*d${"]".repeat(30)}`),
    ).toMatch(/nested deeper/);
  });

  test("is refused for its depth before a parser has to walk it", () => {
    for (const opening of ["[", "{a: ", "- ", "? "]) {
      expect(read(`${HEAD}x:\n  ${opening.repeat(2000)}`)).toBe("nested deeper than 127 levels (line 4)");
    }
  });

  test("may not let its aliases stand for more than a bound", () => {
    const levels = Array.from({ length: 6 }, (_, level) => {
      const below = level === 0 ? "x" : `*a${level - 1}`;
      return `l${level}: &a${level} [${Array(10).fill(below).join(", ")}]\n`;
    });
    expect(read(HEAD + levels.slice(0, 4).join(""))).toMatchObject({ name: "a" });
    expect(read(HEAD + levels.join(""))).toMatch(/aliases that stand for more than 100000 nodes/);
    expect(read(`${HEAD}x: &x 1\ny: [${"*x,".repeat(80_000)}]\n`)).toMatchObject({ name: "a" });
  });

  test("quotes nothing of its text in a fault", () => {
    for (const secret of ["{SECRET", "SECRET: [", "'SECRET", "@SECRET", "- SECRET: - x", "SECRET: &x *y"])
      expect(String(read(`${HEAD}${secret}`))).not.toContain("SECRET");
  });
});

test("a large manifest is read on a thread, one after another, and reads the same", async () => {
  const source = `${HEAD}capabilities:\n  shell:\n    allow:\n${"      - tool\n".repeat(3000)}`;
  const readings = await Promise.all([readManifestAside(source), readManifestAside(`${source}\tx`)]);
  expect(readings[0]).toEqual(readManifest(source));
  expect(readings[1]).toMatchObject({ ok: false });
});
