/**
 * Writes `docs/formation.schema.json`: the shape of `npm run formation -- … --format json`, from the same schema that the
 * program checks files with. Run `bun scripts/formation-schema.ts`; `--check` only tells whether the file is stale.
 */

import { join } from "node:path";
import { Formation } from "../src/formation/index.ts";

export const FORMATION_SCHEMA_PATH = join(import.meta.dir, "..", "docs", "formation.schema.json");

/** The file's text. It is stable, so a change of the shape gives a readable diff. */
export function formationSchemaText(): string {
  const head = { $schema: "https://json-schema.org/draft/2020-12/schema", title: "mur-roost formation" };
  return `${JSON.stringify({ ...head, ...Formation }, undefined, 2)}\n`;
}

if (import.meta.main) {
  const unknown = process.argv.slice(2).find((flag) => flag !== "--check");
  if (unknown !== undefined) {
    process.stderr.write(`formation-schema: unknown argument: ${unknown} (only --check is known)\n`);
    process.exit(1);
  }
  const file = Bun.file(FORMATION_SCHEMA_PATH);
  if (!process.argv.includes("--check")) {
    await Bun.write(file, formationSchemaText());
  } else if (!(await file.exists()) || (await file.text()) !== formationSchemaText()) {
    process.stderr.write("docs/formation.schema.json is stale: run npm run formation:schema\n");
    process.exitCode = 1;
  }
}
