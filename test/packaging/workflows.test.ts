/** The workflows through GitHub's own reader of them; they run on GitHub only. */

import { expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { validate } from "@actions/languageservice";
import { TextDocument } from "vscode-languageserver-textdocument";
import manifest from "../../package.json" with { type: "json" };
import { ROOT } from "../kit/documents.ts";

const FOLDER = join(ROOT, ".github/workflows");
const workflows = readdirSync(FOLDER).map((name) => ({
  name,
  text: readFileSync(join(FOLDER, name), "utf8"),
}));

let asked = 0;

async function faultsOf(text: string): Promise<string[]> {
  // The reader remembers what it was asked by the file's name.
  const document = TextDocument.create(`file:///.github/workflows/${asked++}.yml`, "yaml", 1, text);
  const diagnostics = await validate(document);
  return diagnostics.map(({ message, range }) => `line ${range.start.line + 1}: ${message}`);
}

test("there are two workflows", () => {
  expect(workflows.map(({ name }) => name).sort()).toEqual(["ci.yml", "release.yml"]);
});

test.each(workflows)("$name is a valid workflow", async ({ text }) => {
  expect(await faultsOf(text)).toEqual([]);
});

test.each([
  ["an unknown key", "runs-on:", "runs-at:"],
  ["an unknown context", "github.ref_name", "github.ref_nam"],
  ["an unknown job", "needs: smoke", "needs: smokes"],
  ["an unknown permission", "attestations: write", "attestation: write"],
])("%s is reported", async (_, right, wrong) => {
  const text = workflows.find(({ name }) => name === "release.yml")?.text ?? "";
  expect(text).toContain(right);
  expect(await faultsOf(text.replace(right, wrong))).not.toEqual([]);
});

test("every file that the workflows run exists", () => {
  const commands = workflows.flatMap(({ text }) => [
    ...text.matchAll(/npm run ([\w:]+)|(scripts\/\S+\.sh)/g),
  ]);
  expect(commands.length).toBeGreaterThan(5);
  for (const [, script, file] of commands) {
    if (script !== undefined) expect(Object.keys(manifest.scripts)).toContain(script);
    if (file !== undefined) expect(existsSync(join(ROOT, file))).toBe(true);
  }
});
