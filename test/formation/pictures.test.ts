import { describe, expect, test } from "bun:test";
import { renderDot, renderMermaid } from "../../src/formation/index.ts";
import { registryOf, spawns, testRegistry } from "./kit.ts";

describe("pictures", () => {
  test("tell granted from refused by the line, and say why", async () => {
    using registry = await registryOf({
      "local/root@1.0.0": spawns("local/a", "local/b", "local/c", "local/d"),
      "local/a@1.0.0": spawns("local/b"),
      "local/b@1.0.0": { shell: { allow: ["git"] }, env: { allow: ["HOME"] } },
    });
    registry.publishBytes("local/c@1.0.0", Buffer.from("no archive"));
    const formation = await registry.inspect("local/root@1.0.0", { limits: { maxDepth: 1 } });
    expect(renderMermaid(formation).split("\n")).toEqual([
      "flowchart TD",
      '  c0(["local/root@1.0.0"])',
      '  c1["local/a@1.0.0 (--max-depth 1 ends here)"]',
      '  c2["local/b@1.0.0"]',
      '  c3["local/c@1.0.0"]',
      '  c4[/"local/d"/]',
      "  c0 --> c1",
      '  c0 -. "refused: shell.allow, env.allow" .-> c2',
      '  c0 -. "cannot be resolved" .-> c3',
      '  c0 -. "not in the registry" .-> c4',
      "  linkStyle 1,2,3 stroke:#c0392b",
      "",
    ]);
    expect(renderDot(formation).split("\n").slice(3)).toEqual([
      '  c0 [label="local/root@1.0.0", style=rounded, penwidth=2];',
      '  c1 [label="local/a@1.0.0 (--max-depth 1 ends here)"];',
      '  c2 [label="local/b@1.0.0"];',
      '  c3 [label="local/c@1.0.0"];',
      '  c4 [label="local/d", style=dashed];',
      "  c0 -> c1;",
      '  c0 -> c2 [style=dashed, color="#c0392b", label="refused: shell.allow, env.allow"];',
      '  c0 -> c3 [style=dashed, color="#c0392b", label="cannot be resolved"];',
      '  c0 -> c4 [style=dashed, color="#c0392b", label="not in the registry"];',
      "}",
      "",
    ]);
  });

  test("show any text of a manifest or a version as plain text", async () => {
    using registry = testRegistry();
    const evil = 'x"] --> y["<b>&lt;\\N#quot;`\u001b\n\u202e';
    await registry.publish("local/root@1.0.0", spawns(evil, "local/a"));
    await registry.publish('local/a@"]; <i>&amp;');
    const formation = await registry.inspect("local/root@1.0.0");
    const mermaid = renderMermaid(formation);
    const labels = [...mermaid.matchAll(/"([^"\n]*)"/g)].map(([, label = ""]) => label);
    const read = labels.map((label) =>
      label.replace(/#(\d+);/g, (_, code) => String.fromCodePoint(Number(code))),
    );
    const safe = 'x"] --> y["<b>&lt;\\N#quot;`\\u001b\\u000a\\u202e';
    expect(read).toContain(safe);
    expect(read).toContain('local/a@"]; <i>&amp;');
    expect(labels.every((label) => /^(?:[A-Za-z0-9 .,:/@_()-]|#\d+;)*$/.test(label))).toBe(true);
    expect(mermaid.replace(/"[^"\n]*"/g, "T").split("\n")).toEqual([
      "flowchart TD",
      "  c0([T])",
      "  c1[T]",
      "  c2[/T/]",
      "  c0 -. T .-> c2",
      "  c0 --> c1",
      "  linkStyle 0 stroke:#c0392b",
      "",
    ]);
    const dot = renderDot(formation);
    expect(dot).toContain(
      'c2 [label="x\\"] --> y[\\"<b>&amp;lt;\\\\N#quot;`\\\\u001b\\\\u000a\\\\u202e", style=dashed];',
    );
    expect(dot).toContain('c1 [label="local/a@\\"]; <i>&amp;amp;"];');
  });
});
