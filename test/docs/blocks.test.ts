/** Every code block of every document is checked. The table gives, for each language, what runs whole blocks. */

import { expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import manifest from "../../package.json" with { type: "json" };
import { readFlags } from "../../src/cli/flags.ts";
import { readManifest } from "../../src/registry/manifest.ts";
import { allBlocks, type Block, placeOf, ROOT } from "../kit/documents.ts";
import { isProgram } from "../kit/programs.ts";

/** Documents whose YAML has its own test, which also knows the blocks that show a mistake. */
const TESTED_APART: Readonly<Record<string, string>> = {
  "docs/manifest.md": "test/registry/yaml/page.test.ts",
};

/** For each language: why a block is wrong, or `undefined`. */
const CHECKS: Readonly<Record<string, (text: string) => string | undefined>> = {
  // A whole program is type-checked, and a file of examples/ is type-checked and run: test/package/package.test.ts.
  ts: (text) =>
    isProgram(text) || isPartOf(text, examples) ? undefined : "neither a program nor part of an example",
  // Run: test/docs/transcripts.test.ts.
  console: () => undefined,
  sh: shellFault,
  ini: (text) => partOfPackaging(text),
  xml: (text) => partOfPackaging(text),
  dockerfile: (text) => partOfPackaging(text),
  json: (text) => faultOf(() => JSON.parse(text)),
  yaml(text) {
    const reading = readManifest(text);
    return reading.ok ? undefined : reading.fault;
  },
  // No code: a log, a listing, a tree of folders.
  text: () => undefined,
  mermaid: (text) =>
    /^(flowchart|sequenceDiagram|stateDiagram-v2)\b/.test(text) ? undefined : "no kind of diagram",
};

function filesOf(folder: string): string[] {
  return readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), "utf8"));
}

const examples = filesOf("examples");
const packaging = filesOf("packaging");

/** Whether one of the files contains the lines one after another, with any indentation. */
function isPartOf(text: string, files: readonly string[]): boolean {
  const lines = (of: string) => of.split("\n").map((line) => line.trim());
  const wanted = `\n${lines(text.trim()).join("\n")}\n`;
  return files.some((file) => `\n${lines(file).join("\n")}\n`.includes(wanted));
}

function partOfPackaging(text: string): string | undefined {
  return isPartOf(text, packaging) ? undefined : "it does not stand in a file of packaging/";
}

function faultOf(run: () => unknown): string | undefined {
  try {
    run();
    return undefined;
  } catch (error) {
    return String(error);
  }
}

/** The shell must be able to read it, and what it asks of npm and of the daemon must be there. */
function shellFault(text: string): string | undefined {
  const { exitCode, stderr } = Bun.spawnSync(["bash", "-n"], { stdin: Buffer.from(text) });
  if (exitCode !== 0) return stderr.toString();
  for (const [, script = ""] of text.matchAll(/\bnpm run ([\w:-]+)/g)) {
    if (!Object.hasOwn(manifest.scripts, script)) return `package.json has no script ${script}`;
  }
  for (const [, flags = ""] of text.matchAll(/^(?:npm start --|mur-roost) (.*?)(?:\s+(?:&|#).*)?$/gm)) {
    const reading = readFlags(flags.split(/\s+/));
    if (reading.kind === "fault") return reading.fault;
  }
  return undefined;
}

test("the documents that are tested elsewhere exist, and so do their tests", () => {
  for (const [document, path] of Object.entries(TESTED_APART)) {
    expect(allBlocks().some((block) => block.document === document)).toBe(true);
    expect(readFileSync(join(ROOT, path), "utf8")).toContain(document.split("/").at(-1) ?? "");
  }
});

const checkedHere = allBlocks().filter(
  ({ document, language }) => language !== "yaml" || !Object.hasOwn(TESTED_APART, document),
);

test("there are blocks to check", () => {
  expect(checkedHere).not.toBeEmpty();
});

test.each(checkedHere.map((block) => [placeOf(block), block] as const))(
  "the block at %s is right",
  (_, block: Block) => {
    const check = CHECKS[block.language];
    const fault = check ? check(block.text) : `no check for the language '${block.language}'`;
    expect(fault).toBeUndefined();
  },
);

test("a wrong block is reported", () => {
  const faults = {
    ts: "const session: Session = open();\n",
    sh: "npm run nothing\n",
    ini: "[Unit]\nDescription=another\n",
    json: "{",
    yaml: "name: a\n",
  };
  for (const [language, text] of Object.entries(faults)) expect(CHECKS[language]?.(text)).toBeString();
  expect(CHECKS.sh?.("for\n")).toBeString();
  expect(CHECKS.sh?.("mur-roost --port 0 --depth 3\n")).toBeString();
  expect(CHECKS.sh?.("mur-roost --port 0 --max-depth 3 &\n")).toBeUndefined();
});
