/**
 * Writes `docs/formation.schema.json`: the shape of `npm run formation -- … --format json`, from the same schema that the
 * program checks files with. Run `bun scripts/formation-schema.ts`; `--check` only tells whether the file is stale.
 */

import { join } from "node:path";
import { Formation } from "../src/formation/index.ts";
import { writeOrCheck } from "./generated-file.ts";

export const FORMATION_SCHEMA_PATH = join(import.meta.dir, "..", "docs", "formation.schema.json");

/** The file's text. It is stable, so a change of the shape gives a readable diff. */
export function formationSchemaText(): string {
  const head = { $schema: "https://json-schema.org/draft/2020-12/schema", title: "mur-roost formation" };
  return `${JSON.stringify({ ...head, ...Formation }, undefined, 2)}\n`;
}

if (import.meta.main) await writeOrCheck(FORMATION_SCHEMA_PATH, formationSchemaText(), "formation:schema");
