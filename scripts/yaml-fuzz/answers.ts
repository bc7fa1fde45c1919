/** A file of documents with libyaml's answers, for where libyaml is not installed. */

import { randomDocuments } from "./documents.ts";
import { ourAnswer } from "./ours.ts";
import type { Answer, PythonReader } from "./python.ts";

/** So many that ours reads, and so many that it refuses. */
const READ = 3500;
const REFUSED = 500;
const LONGEST = 100;

/** A document and what libyaml makes of it; the file holds one as JSON on each line. */
export type Answered = readonly [document: string, answer: Answer];

export async function writeAnswers(path: string, seed: number, libyaml: PythonReader): Promise<void> {
  const read = new Set<string>();
  const refused = new Set<string>();
  for (const document of randomDocuments(seed, Number.MAX_SAFE_INTEGER)) {
    // A lone surrogate has no UTF-8, so it cannot be asked about.
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
