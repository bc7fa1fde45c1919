/** `.ci/run` with an `npm` that does as it is told: it must not pass where nothing was tested. */

import { expect, test } from "bun:test";
import { chmodSync, copyFileSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../kit/documents.ts";
import { scratchDirectory } from "../kit/scratch.ts";

const TESTS_RAN = "echo ' 3 pass'; echo ' 0 fail'";

/** Runs it. `steps` are shell lines for the first word that `npm` is given, or for the word after `run`. */
function ciRun(steps: Readonly<Record<string, string>>) {
  using scratch = scratchDirectory();
  const file = (path: string, text?: string) => {
    mkdirSync(join(scratch.path, path, ".."), { recursive: true });
    if (text === undefined) copyFileSync(join(ROOT, path), join(scratch.path, path));
    else writeFileSync(join(scratch.path, path), text);
    chmodSync(join(scratch.path, path), 0o755);
  };
  const cases = Object.entries(steps).map(([step, line]) => `${step}) ${line} ;;`);
  file("bin/npm", `#!/bin/sh\n[ "$1" = run ] && shift\ncase "$1" in\n${cases.join("\n")}\nesac\n`);
  file(".ci/run");
  const { stdout, exitCode } = Bun.spawnSync(["bash", join(scratch.path, ".ci/run")], {
    env: { PATH: `${join(scratch.path, "bin")}:${process.env.PATH}` },
  });
  return { isGreen: exitCode === 0, said: stdout.toString() };
}

test("passes once all steps pass, and says how many tests ran", () => {
  const { isGreen, said } = ciRun({ test: TESTS_RAN });
  expect([isGreen, said.trimEnd().split("\n").at(-1)]).toEqual([true, "3 passed, 0 failed"]);
});

test.each(["ci", "test", "types", "lint", "format"])("fails if npm fails at %s", (step) => {
  expect(ciRun({ test: TESTS_RAN, [step]: "exit 1" }).isGreen).toBe(false);
});

test("goes no further once npm ci or a test fails", () => {
  for (const step of ["ci", "test"]) {
    const { said } = ciRun({ test: TESTS_RAN, types: "echo more", [step]: "exit 1" });
    expect(said).not.toContain("more");
  }
});

test("fails if no test ran", () => {
  expect(ciRun({ test: "true" }).isGreen).toBe(false);
  expect(ciRun({ test: "echo ' 0 pass'; echo ' 0 fail'" }).isGreen).toBe(false);
});
