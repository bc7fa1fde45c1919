/** The files and the commands that documents name are there. */

import { expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import manifest from "../../package.json" with { type: "json" };
import { type Document, documents, ROOT } from "../kit/documents.ts";

const PATH = /`((?:src|test|bench|scripts|examples|packaging|docs)\/[\w./-]*)`/g;
const COMMAND = /`npm run ([\w:-]+)/g;

function missingIn({ text }: Document): string[] {
  const paths = [...text.matchAll(PATH)].map(([, path = ""]) => path);
  const commands = [...text.matchAll(COMMAND)].map(([, command = ""]) => command);
  return [
    ...paths.filter((path) => !existsSync(join(ROOT, path))),
    ...commands.filter((command) => !Object.hasOwn(manifest.scripts, command)),
  ];
}

test.each(documents().map((document) => [document.path, document] as const))(
  "every file and command that %s names is there",
  (_, document) => {
    expect(missingIn(document)).toEqual([]);
  },
);

test("a missing path is reported", () => {
  const text = "`src/main.ts`, `src/none.ts`, `npm run build` and `npm run none -- --long`";
  expect(missingIn({ path: "one.md", text })).toEqual(["src/none.ts", "none"]);
});
