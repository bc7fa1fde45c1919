import { describe, expect, spyOn, test } from "bun:test";
import { LARGE_MANIFESTS } from "../../scripts/yaml-fuzz/large.ts";
import { decodeManifest, readManifest, readManifestInSlices } from "../../src/registry/manifest.ts";
import { readYamlTreeInSteps } from "../../src/registry/yaml/read-tree.ts";

const HEAD = "name: a\nversion: 0.1.0\n";
const read = (source: string) => {
  const reading = readManifest(source);
  return reading.ok ? reading.manifest : reading.fault;
};

describe("a manifest", () => {
  test("keeps texts as they are written, and gives each key its type", () => {
    const source = `name: 1.0\nversion: 0.10\ncapabilities:\n  env: {allow: [8080, yes, 0x1F, ~, null, "q", 'it''s', "\\u0041"]}\n  filesystem: {scope: "  a b ", workdir_exec: TRUE}\n`;
    expect(read(source)).toMatchObject({
      name: "1.0",
      version: "0.10",
      envAllow: ["8080", "yes", "0x1F", "~", "null", "q", "it's", "A"],
      filesystemScope: "a b",
      workdirExec: true,
    });
  });

  test("never expands a variable", () => {
    process.env.MUR_ROOST_TEST_SECRET = "opened";
    const source = `${HEAD}capabilities: {shell: {allow: ['\${MUR_ROOST_TEST_SECRET}']}}\n`;
    expect(read(source)).toMatchObject({ shellAllow: [`\${MUR_ROOST_TEST_SECRET}`] });
  });

  test("may end its lines with CRLF, and begin with a marker", () => {
    expect(read(`---\r\nname: a\r\nversion: "1"\r\n# done\r\n`)).toMatchObject({
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
    // White space to one language, and text to another.
    ...[`"\\uFEFF"`, `" \\N a"`, `"a\\x85"`, `"a \\uFEFF "`].map((scope): [string, string] => [
      `${HEAD}capabilities: {filesystem: {scope: ${scope}}}`,
      "capabilities.filesystem.scope: must not begin or end with U+FEFF or U+0085",
    ]),
    [
      `${HEAD}artifacts: [{capabilities: {state: {store: "\\N"}}}]`,
      "artifacts[0].capabilities.state.store: must not begin or end with U+FEFF or U+0085",
    ],
    [`${HEAD}capabilities: {filesystem: {scope: [a]}}`, "capabilities.filesystem.scope: must be a text"],
    [
      `${HEAD}capabilities: {containment: none}`,
      "capabilities.containment: must be one of advisory, scoped, sealed",
    ],
    [`${HEAD}artifacts: null`, "artifacts: must be a list"],
    [`${HEAD}artifacts: [{capabilities: {state: []}}]`, "artifacts[0].capabilities.state: must be a mapping"],
    [`${HEAD}a: 1\na: 2`, "a key for the second time in one mapping (line 4): keep one of them"],
    [`${HEAD}x: &a b`, "an anchor (&…) (line 3): write the value out in each place that needs it"],
    [
      `${HEAD}capabilities: {shell: {allow: [ok, ${"x".repeat(4097)}]}}`,
      "capabilities.shell.allow: no entry may be longer than 4096 bytes",
    ],
    [
      `${HEAD}capabilities: {install: {skill: [${"é".repeat(2049)}]}}`,
      "capabilities.install.skill: no entry may be longer than 4096 bytes",
    ],
  ])("%j is refused with the line or the key at fault", (source, fault) => {
    expect(read(source)).toBe(fault);
  });

  test("is never quoted in a fault", () => {
    for (const secret of [
      "{SECRET",
      "SECRET: [",
      "'SECRET",
      "@SECRET",
      "- SECRET: - x",
      "SECRET: &x *y",
      "SECRET",
    ])
      expect(String(read(`${HEAD}${secret}`))).not.toContain("SECRET");
  });
});

describe("the largest manifests", () => {
  test.each(Object.entries(LARGE_MANIFESTS))("of %s read in slices as they do at once", async (_, source) => {
    expect(source.length).toBeGreaterThan(255 * 1024);
    const atOnce = readManifest(source);
    expect(atOnce.ok).toBe(true);
    expect(await readManifestInSlices(source)).toEqual(atOnce);
  });

  test("give the same faults in slices as at once", async () => {
    const source = `${LARGE_MANIFESTS.keys}\tx`;
    const fault = "a tab outside of comments, quotes and blocks of text";
    expect(readManifest(source)).toEqual({ ok: false, fault: expect.stringContaining(fault) });
    expect(await readManifestInSlices(source)).toEqual(readManifest(source));
  });

  test("have their artifacts checked one by one, with a turn for others in between", async () => {
    const source = `${HEAD}artifacts: [{}, x]\n`;
    const first = await decodeManifest(source, (top) => {
      const artifacts = top.blocks("artifacts");
      return { where: artifacts.next().value?.where };
    });
    expect(first).toEqual({ ok: true, manifest: { where: "artifacts[0]" } });
    expect(read(source)).toBe("artifacts[1]: must be a mapping");
  });

  test("give others their turn", async () => {
    let turns = 0;
    let reading = true;
    const count = () => {
      turns++;
      if (reading) setImmediate(count);
    };
    setImmediate(count);
    await readManifestInSlices(LARGE_MANIFESTS["entries in brackets"]);
    reading = false;
    expect(turns).toBeGreaterThan(1);
  });

  test.each([
    ["entries of a list", `capabilities: {shell: {allow: [${"a, ".repeat(1000)}]}}`],
    ["artifacts", `artifacts: [${"{}, ".repeat(1000)}]`],
  ])("could give them one after every few %s, too", (_, source) => {
    // The clock is asked once at the start, and then wherever a turn could end.
    const clock = spyOn(performance, "now").mockReturnValue(0);
    try {
      expect(readManifestInSlices(HEAD + source)).toMatchObject({ ok: true });
      const inText = [...readYamlTreeInSteps(HEAD + source)].length;
      expect(clock.mock.calls.length - 1 - inText).toBe(3);
    } finally {
      clock.mockRestore();
    }
  });

  test("are not kept in memory by the few texts kept from them", () => {
    const kept: unknown[] = [];
    const bytes = Buffer.from(
      `${HEAD}capabilities: {shell: {allow: [long-enough-name]}}\n#`.padEnd(256 * 1024, "x"),
    );
    const read = () => {
      for (let count = 0; count < 400; count++) kept.push(readManifest(new TextDecoder().decode(bytes)));
      Bun.gc(true);
      return process.memoryUsage().rss;
    };
    const before = read();
    // The sources alone would be 100 MB.
    expect(read() - before).toBeLessThan(50e6);
    expect(kept).toHaveLength(800);
  });
});
