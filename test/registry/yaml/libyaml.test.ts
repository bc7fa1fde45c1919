/**
 * One text, one tree: libyaml reads every text as our reader does. Where libyaml is installed (Debian's
 * `python3-yaml`), new documents are compared each time; everywhere, a file of its answers is. `npm run fuzz:yaml` goes on
 * for longer.
 */

import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Answered } from "../../../scripts/yaml-fuzz/answers.ts";
import { compareAll } from "../../../scripts/yaml-fuzz/compare.ts";
import {
  ALPHABETS,
  allDocuments,
  changedDocuments,
  randomDocuments,
} from "../../../scripts/yaml-fuzz/documents.ts";
import { LARGE_MANIFESTS } from "../../../scripts/yaml-fuzz/large.ts";
import { hasLibyaml, ourAnswer, PythonReader } from "../../../scripts/yaml-fuzz/readers.ts";

const answered: Answered[] = readFileSync(join(import.meta.dir, "libyaml-answers.jsonl"), "utf8")
  .trimEnd()
  .split("\n")
  .map((line) => JSON.parse(line));

test("our reader gives the committed answers of libyaml", () => {
  let read = 0;
  for (const [document, answer] of answered) {
    const ours = ourAnswer(document);
    if (ours === undefined) continue;
    read++;
    expect<unknown>({ document, answer: ours }).toEqual({ document, answer });
  }
  expect(read).toBeGreaterThanOrEqual(3000);
});

const installed = await hasLibyaml();
if (!installed)
  process.stderr.write("libyaml is not installed here: only its committed answers are compared\n");

describe.skipIf(!installed)("libyaml reads the same", () => {
  const seed = Number(process.env.FUZZ_SEED ?? crypto.getRandomValues(new Int32Array(1))[0]);

  test(`in documents by grammar and mutation (seed ${seed})`, async () => {
    await using libyaml = new PythonReader("libyaml");
    const tally = await compareAll(randomDocuments(seed, 10_000), libyaml);
    expect(tally.differences.examples).toEqual([]);
    expect(tally.read).toBeGreaterThan(3000);
  });

  test.each(ALPHABETS.map((alphabet) => [alphabet.join(""), alphabet] as const))(
    "in all texts of up to four of %j",
    async (_, alphabet) => {
      await using libyaml = new PythonReader("libyaml");
      const tally = await compareAll(allDocuments(alphabet, 4, ""), libyaml);
      expect(tally.differences.examples).toEqual([]);
      expect(tally.read).toBeGreaterThan(3000);
    },
  );

  test(`in the largest texts with one character changed (seed ${seed})`, async () => {
    await using libyaml = new PythonReader("libyaml");
    const documents = changedDocuments(LARGE_MANIFESTS["all kinds of lines"], seed, 6);
    const tally = await compareAll(documents, libyaml);
    expect(tally.differences.examples).toEqual([]);
  });

  test("and this test finds a wrong reading", async () => {
    await using libyaml = new PythonReader("libyaml");
    const documents = ["a: b\n", "a: [c]\n", "a: b: c\n"];
    const wrong = (document: string) =>
      document.includes("[") ? { map: [["a", "=c"]] } : { map: [["a", "=b"]] };
    const tally = await compareAll(documents, libyaml, { read: wrong });
    expect(tally.differences.examples.map(({ document }) => document)).toEqual(["a: [c]\n", "a: b: c\n"]);
  });
});
