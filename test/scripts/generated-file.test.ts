/** The files that are made from the code: are they what the code makes, and is a check nothing but a check? */

import { expect, test } from "bun:test";
import { statSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../kit/documents.ts";

test.each([
  ["scripts/openapi.ts", "openapi.json", "openapi"],
  ["scripts/formation-schema.ts", "docs/formation.schema.json", "formation:schema"],
])("%s --check only looks, and another argument is refused", (script, file, name) => {
  const run = (argument: string) => {
    const { exitCode, stderr } = Bun.spawnSync([process.execPath, join(ROOT, script), argument]);
    return [exitCode, stderr.toString()];
  };
  const before = statSync(join(ROOT, file)).mtimeMs;
  expect(run("--check")).toEqual([0, ""]);
  expect(run("--chek")).toEqual([1, `${name}: unknown argument: --chek (only --check is known)\n`]);
  expect(statSync(join(ROOT, file)).mtimeMs).toBe(before);
});
