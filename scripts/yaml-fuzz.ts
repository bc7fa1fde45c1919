/**
 * `npm run fuzz:yaml`: checks that a manifest has only one meaning. libyaml must read every document that the daemon reads,
 * and give the same tree. Needs Debian's `python3-yaml`. The default run takes about ten minutes.
 */

import { parseArgs } from "node:util";
import { messageOf } from "../src/os-error.ts";
import { writeAnswers } from "./yaml-fuzz/answers.ts";
import { compareAll, type Findings, OtherReader } from "./yaml-fuzz/compare.ts";
import * as documents from "./yaml-fuzz/documents.ts";
import { LARGE_MANIFESTS } from "./yaml-fuzz/large.ts";
import { hasLibyaml, libraryAnswer, PythonReader } from "./yaml-fuzz/readers.ts";

const USAGE = `usage: npm run fuzz:yaml -- [--documents N] [--exhaustive LENGTH] [--changes N] [--seed S] [--write-answers FILE]
  --documents N         documents by grammar and mutation (default 5000000)
  --exhaustive LENGTH   every text of up to LENGTH characters of two alphabets of twelve (default 6), and of up to two
                        fewer after some beginnings; 0 for none
  --changes N           each of the largest manifests with one character changed, N times (default 20)
  --seed S              repeats a run (default: a new one each time; it is printed)
  --write-answers FILE  only writes documents with libyaml's answers for the tests
`;

interface Options {
  readonly documents: number;
  readonly exhaustive: number;
  readonly changes: number;
  readonly seed: number;
  readonly writeAnswers: string | undefined;
}

function readOptions(): Options {
  const { values } = parseArgs({
    options: {
      documents: { type: "string", default: "5000000" },
      exhaustive: { type: "string", default: "6" },
      changes: { type: "string", default: "20" },
      seed: { type: "string", default: String(crypto.getRandomValues(new Int32Array(1))[0]) },
      "write-answers": { type: "string" },
    },
  });
  const number = (name: "documents" | "exhaustive" | "changes" | "seed") => {
    const value = Number(values[name]);
    if (!Number.isSafeInteger(value)) throw new Error(`--${name} takes a whole number`);
    return value;
  };
  return {
    documents: number("documents"),
    exhaustive: number("exhaustive"),
    changes: number("changes"),
    seed: number("seed"),
    writeAnswers: values["write-answers"],
  };
}

/** The runs, one after the other. */
function* runs({
  documents: count,
  exhaustive,
  changes,
  seed,
}: Options): Generator<[string, Iterable<string>]> {
  for (const alphabet of exhaustive > 0 ? documents.ALPHABETS : []) {
    for (const beginning of documents.BEGINNINGS) {
      const length = beginning === "" ? exhaustive : exhaustive - 2;
      const what = `up to ${length} of ${JSON.stringify(alphabet.join(""))} after ${JSON.stringify(beginning)}`;
      yield [what, documents.allDocuments(alphabet, length, beginning)];
    }
  }
  if (changes > 0) {
    for (const [shape, text] of Object.entries(LARGE_MANIFESTS)) {
      yield [`256 KiB of ${shape}, one character changed`, documents.changedDocuments(text, seed, changes)];
    }
  }
  yield ["by grammar and mutation", documents.randomDocuments(seed, count)];
}

const say = (line: string) => process.stdout.write(`${line}\n`);

function show({ examples }: Findings, most = examples.length): void {
  for (const { document, expected, found } of examples.slice(0, most)) {
    const sides = [expected, found].map((answer) => JSON.stringify(answer).slice(0, 400));
    say(`  ${JSON.stringify(document).slice(0, 400)}\n    expected ${sides[0]}\n    found    ${sides[1]}`);
  }
}

/** Returns how many differences there were. */
async function compareWithLibyaml(options: Options, libyaml: PythonReader): Promise<number> {
  await using pyyaml = new PythonReader("python");
  const others = [
    new OtherReader("PyYAML's own reader", (batch) => pyyaml.read(batch)),
    new OtherReader("the yaml package", async (batch) => batch.map(libraryAnswer)),
  ];
  say(`seed ${options.seed}`);
  let count = 0;
  for (const [what, texts] of runs(options)) {
    const tally = await compareAll(texts, libyaml, { others });
    say(`${what}: ${tally.documents} documents, ${tally.read} read, ${tally.differences.count} differences`);
    show(tally.differences);
    count += tally.differences.count;
  }
  for (const { name, documents: asked, differences, refusals } of others) {
    say(`${name}, asked about ${asked}: ${differences.count} read otherwise, ${refusals.count} refused`);
    show(differences);
    show(refusals, 5);
  }
  return count;
}

async function main(): Promise<number> {
  const options = readOptions();
  if (!(await hasLibyaml())) throw new Error("libyaml is not installed: install python3-yaml");
  await using libyaml = new PythonReader("libyaml");
  if (options.writeAnswers === undefined) return (await compareWithLibyaml(options, libyaml)) === 0 ? 0 : 1;
  await writeAnswers(options.writeAnswers, options.seed, libyaml);
  return 0;
}

try {
  process.exitCode = await main();
} catch (error) {
  process.stderr.write(`fuzz: ${messageOf(error)}\n${USAGE}`);
  process.exitCode = 2;
}
