/** The numbers of the commands that maintainers run. */

import { expect, test } from "bun:test";
import { join } from "node:path";
import { readNumbers } from "../../scripts/number-flags.ts";
import { ROOT } from "../kit/documents.ts";

test("are read, or are the defaults", () => {
  const defaults = { minutes: 1, seed: 7 };
  expect(readNumbers("", defaults, [])).toEqual(defaults);
  expect(readNumbers("", defaults, ["--minutes", "5", "--seed=0"])).toEqual({ minutes: 5, seed: 0 });
});

test.each([
  ["scripts/archive-fuzz.ts", ["--seconds", "1m"], "--seconds takes a whole number"],
  ["scripts/archive-fuzz.ts", ["--seed", ""], "--seed takes a whole number"],
  ["bench/worst.ts", ["--minutes", "-1"], "minutes"],
  ["scripts/soak-children.ts", ["--kills", "2.5"], "--kills takes a whole number"],
  ["scripts/soak-children.ts", ["--kill", "5"], "--kill"],
])("%s %p ends with one line and the usage", (script, args, what) => {
  const { stdout, stderr, exitCode } = Bun.spawnSync([process.execPath, join(ROOT, script), ...args]);
  expect([exitCode, stdout.toString()]).toEqual([1, ""]);
  const lines = stderr.toString().trimEnd().split("\n");
  expect(lines).toEqual([expect.stringContaining(what), expect.stringContaining("usage: npm run ")]);
});
