import { expect, test } from "bun:test";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { scratchDirectory } from "./scratch.ts";

/** Runs a test file of these lines; `log` is what it wrote by `note(word)`. */
function run(lines: readonly string[], ...args: readonly string[]) {
  using scratch = scratchDirectory();
  const log = join(scratch.path, "log");
  const source = [
    'import { expect, test } from "bun:test";',
    'import { appendFileSync } from "node:fs";',
    `import { shared } from ${JSON.stringify(join(import.meta.dir, "shared.ts"))};`,
    `const note = (word) => appendFileSync(${JSON.stringify(log)}, word + " ");`,
    ...lines,
  ];
  writeFileSync(join(scratch.path, "some.test.ts"), source.join("\n"));
  const ended = Bun.spawnSync([process.execPath, "test", ...args, "./some.test.ts"], { cwd: scratch.path });
  return {
    status: ended.exitCode,
    said: ended.stderr.toString(),
    log: existsSync(log) ? readFileSync(log, "utf8").trim() : "",
  };
}

const TWO = [
  'const one = shared((undo) => { note("one"); undo.defer(() => note("undo-one")); return { name: "one" }; });',
  'const two = shared((undo) => { note("two"); undo.defer(() => note("undo-two")); return one().name + "-two"; });',
];

test("is made in order before the tests, and undone in reverse order after them", () => {
  const { status, log } = run([...TWO, 'test("a", () => note(two())); test("b", () => note(one().name));']);
  expect([status, log]).toEqual([0, "one two one-two one undo-two undo-one"]);
});

test("is not made if no test of the file runs", () => {
  expect(run([...TWO, 'test("a", () => {});'], "-t", "nothing like that").log).toBe("");
});

test("fails the file with its own message if it cannot be made, and undoes what was made", () => {
  const broken =
    'shared((undo) => { undo.defer(() => note("undo")); note("made"); throw new Error("no luck"); });';
  const { status, said, log } = run([broken, 'test("a", () => note("a"));']);
  expect([status, log]).toEqual([1, "made undo"]);
  expect(said).toContain("error: no luck");
});

test("is available only within tests", () => {
  const { status, said } = run([...TWO, "two();", 'test("a", () => {});']);
  expect(status).toBe(1);
  expect(said).toContain("it is there within tests only");
});
