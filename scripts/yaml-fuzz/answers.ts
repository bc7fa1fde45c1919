/** Writes a file of documents with libyaml's answers, for machines without libyaml. */

import { randomDocuments } from "./documents.ts";
import { type Answer, ourAnswer, type PythonReader } from "./readers.ts";

/** How many documents of the file ours reads, and how many it refuses. */
const READ = 3500;
const REFUSED = 500;
const LONGEST = 100;

/** A document and libyaml's answer. The file has one per line, as JSON. */
export type Answered = readonly [document: string, answer: Answer];

export async function writeAnswers(path: string, seed: number, libyaml: PythonReader): Promise<void> {
  const read = new Set<string>();
  const refused = new Set<string>();
  for (const document of randomDocuments(seed, Number.MAX_SAFE_INTEGER)) {
    // A lone surrogate cannot be encoded as UTF-8, so libyaml cannot be asked about it.
    if (document.length > LONGEST || !document.isWellFormed()) continue;
    if (ourAnswer(document) === undefined) {
      if (refused.size < REFUSED) refused.add(document);
    } else if (document.length > 8) read.add(document);
    if (read.size === READ && refused.size === REFUSED) break;
  }
  const documents = [...read, ...refused];
  const answers = await libyaml.read(documents);
  const lines = documents.map((document, index) =>
    JSON.stringify([document, answers[index]] satisfies Answered),
  );
  await Bun.write(path, `${lines.join("\n")}\n`);
}
