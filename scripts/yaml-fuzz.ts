/**
 * `npm run fuzz:yaml`: whether a manifest has one reading. Whatever the daemon reads must be, in libyaml's reading, the
 * same tree. Needs Debian's `python3-yaml`; the default run takes some minutes.
 */

import { parseArgs } from "node:util";
import { writeAnswers } from "./yaml-fuzz/answers.ts";
import { compareAll, type Findings, OtherReader, type Tally } from "./yaml-fuzz/compare.ts";
import { ALPHABETS, allDocuments, BEGINNINGS, randomDocuments } from "./yaml-fuzz/documents.ts";
import { libraryAnswer } from "./yaml-fuzz/library.ts";
import { hasLibyaml, PythonReader } from "./yaml-fuzz/python.ts";

const USAGE = `usage: npm run fuzz:yaml -- [--documents N] [--seed S] [--exhaustive LENGTH] [--write-answers FILE]
  --documents N         documents by grammar and mutation (default 5000000; 0 for none)
  --seed S              repeats a run (default: another one each time; it is printed)
  --exhaustive LENGTH   every text of up to so many characters of two alphabets of twelve (default 6), and of up to two
                        fewer behind some beginnings
  --write-answers FILE  writes documents with libyaml's answers for the tests, and nothing else
`;

const say = (line: string) => process.stdout.write(`${line}\n`);

function report(what: string, tally: Tally): number {
  const { documents, read, differences } = tally;
  say(`${what}: ${documents} documents, ${read} read, ${differences.count} differences`);
  show(differences);
  return differences.count;
}

function show({ examples }: Findings): void {
  for (const { document, expected, found } of examples) {
    say(
      `  ${JSON.stringify(document)}\n    expected ${JSON.stringify(expected)}\n    found    ${JSON.stringify(found)}`,
    );
  }
}

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      documents: { type: "string", default: "5000000" },
      seed: { type: "string", default: String(crypto.getRandomValues(new Int32Array(1))[0]) },
      exhaustive: { type: "string", default: "6" },
      "write-answers": { type: "string" },
    },
  });
  const [documents, seed, longest] = [values.documents, values.seed, values.exhaustive].map(Number) as [
    number,
    number,
    number,
  ];
  if (![documents, seed, longest].every(Number.isSafeInteger)) throw new Error("a number is no whole number");
  if (!(await hasLibyaml())) throw new Error("libyaml is not here: install python3-yaml");
  await using libyaml = new PythonReader("libyaml");
  if (values["write-answers"] !== undefined) {
    await writeAnswers(values["write-answers"], seed, libyaml);
    return 0;
  }
  await using pyyaml = new PythonReader("python");
  const others = [
    new OtherReader("PyYAML's own reader", (batch) => pyyaml.read(batch)),
    new OtherReader("the yaml package", async (batch) => batch.map(libraryAnswer)),
  ];
  say(`seed ${seed}`);
  let differences = 0;
  for (const alphabet of longest > 0 ? ALPHABETS : []) {
    for (const beginning of BEGINNINGS) {
      const length = beginning === "" ? longest : longest - 2;
      const tally = await compareAll(allDocuments(alphabet, length, beginning), libyaml, {
        others,
        sampleEvery: 20,
      });
      differences += report(
        `up to ${length} of ${JSON.stringify(alphabet.join(""))} behind ${JSON.stringify(beginning)}`,
        tally,
      );
    }
  }
  const random = await compareAll(randomDocuments(seed, documents), libyaml, { others });
  differences += report("by grammar and mutation", random);
  for (const other of others) {
    say(
      `${other.name}, on a sample of ${other.documents}: ${other.differences.count} read otherwise, ${other.refusals.count} refused`,
    );
    show(other.differences);
    show(other.refusals);
  }
  return differences === 0 ? 0 : 1;
}

try {
  process.exitCode = await main();
} catch (error) {
  process.stderr.write(`fuzz: ${error instanceof Error ? error.message : String(error)}\n${USAGE}`);
  process.exitCode = 2;
}
