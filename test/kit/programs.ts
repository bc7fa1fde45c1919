/** The TypeScript programs that documents and examples show. */

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { allBlocks, ROOT } from "./documents.ts";

export interface Program {
  /** A file name of its own. */
  readonly name: string;
  readonly text: string;
}

/** Whether a block is a complete program that imports what it uses. */
export function isProgram(text: string): boolean {
  return /^import .*"mur-roost\//ms.test(text);
}

/** Every example that uses the library, and every program in a document. */
export function documentedPrograms(): Program[] {
  const examples = readdirSync(join(ROOT, "examples"), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts"))
    .map((name) => ({
      name: name.replaceAll("/", "-"),
      text: readFileSync(join(ROOT, "examples", name), "utf8"),
    }))
    .filter(({ text }) => isProgram(text));
  const blocks = allBlocks().filter(({ language, text }) => language === "ts" && isProgram(text));
  return [
    ...examples,
    ...blocks.map(({ document, line, text }) => ({
      name: `${document.replaceAll("/", "-")}-${line}.ts`,
      text,
    })),
  ];
}
