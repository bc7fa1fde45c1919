/** docs/manifest.md: each example on it is read, or refused in the words that the page has. */

import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { REFUSED, YamlFault } from "../../../src/registry/yaml/fault.ts";
import { readYamlTree } from "../../../src/registry/yaml/read-tree.ts";

const page = await Bun.file(join(import.meta.dir, "../../../docs/manifest.md")).text();
const examples = [...page.matchAll(/```yaml\n([\s\S]*?)```/g)].map(([, text = ""]) => text);
const REFUSED_LINE = "# refused: ";

/** The fault of a text, or `undefined`. */
function faultOf(text: string): string | undefined {
  try {
    readYamlTree(text);
    return undefined;
  } catch (error) {
    if (error instanceof YamlFault) return error.message;
    throw error;
  }
}

describe("the page about the manifest", () => {
  test("has examples that are read, and some that are refused", () => {
    const refused = examples.filter((example) => example.startsWith(REFUSED_LINE));
    expect(refused).not.toBeEmpty();
    expect(examples.length).toBeGreaterThan(refused.length);
  });

  test.each(examples)("is right about %j", (example) => {
    const [first = ""] = example.split("\n");
    const told = first.startsWith(REFUSED_LINE) ? first.slice(REFUSED_LINE.length) : undefined;
    expect(faultOf(example)).toBe(told);
  });

  test.each(Object.entries(REFUSED))(
    "names the refused form %s, and what to write instead",
    (_, [what, instead]) => {
      const said = page
        .split("\n")
        .some((line) => line.includes(`${what} (line `) && line.includes(`: ${instead}`));
      expect([what, said]).toEqual([what, true]);
    },
  );

  test("lists the messages that it has no example for", () => {
    expect(faultOf(`${"k".repeat(1025)}: x`)).toBe(
      "a key longer than 1024 characters (line 1): shorten the key",
    );
    expect(faultOf("[".repeat(128))).toBe("nested deeper than 127 levels (line 1): take some levels out");
    expect(faultOf("\ufeffa: b")).toBe(
      "the character U+FEFF is not allowed (line 1): remove it, or write it as an escape in double quotes",
    );
    expect(faultOf("a: |\n  b")).toBe(
      "a block of text without a line break at the end of the file (line 1): end the file with a line break",
    );
  });
});
