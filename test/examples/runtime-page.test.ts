import { expect, test } from "bun:test";
import { join } from "node:path";
import * as library from "../../src/runtime/index.ts";

const root = join(import.meta.dir, "../..");
const page = await Bun.file(join(root, "docs/runtime.md")).text();

test.each(["delegation/parent.ts", "delegation/child.ts"])(
  "the page about runtimes shows %s whole",
  async (example) => {
    const source = await Bun.file(join(root, "examples", example)).text();
    const program = source.slice(source.indexOf("*/") + 2).trimStart();
    expect(page).toContain(`\`\`\`ts\n${program}\`\`\`\n`);
  },
);

test("every function of the library that the page names is exported", () => {
  const rows = [...page.matchAll(/^\| (`[^|]*) \|/gm)].map(([, cell = ""]) => cell);
  const named = rows.flatMap((cell) =>
    [...cell.matchAll(/`([a-z][A-Za-z]+)\(/g)].map(([, name = ""]) => name),
  );
  expect(named).toContain("openSession");
  expect(named.filter((name) => !(name in library))).toEqual([]);
});
