/** Compares our reading of many documents with libyaml's, and a sample of them with other readers. */

import { type Answer, isRefusal, ourAnswer, type PythonReader } from "./readers.ts";

/** A batch is sent when it has this many documents, or this many characters. */
const BATCH = 1000;
const BATCH_LENGTH = 1_000_000;
/** How many examples are kept of each finding. */
const EXAMPLES = 50;

/** A document with two different answers. */
interface Difference {
  readonly document: string;
  readonly expected: Answer;
  readonly found: Answer;
}

export class Findings {
  count = 0;
  readonly examples: Difference[] = [];

  add(difference: Difference): void {
    this.count++;
    if (this.examples.length < EXAMPLES) this.examples.push(difference);
  }
}

interface Tally {
  documents: number;
  /** Documents that ours reads. The others are not compared. */
  read: number;
  /** Documents that libyaml reads differently, or refuses. */
  readonly differences: Findings;
}

/** Another reader to compare with. Its differences are only reported: only those of libyaml count as failures. */
export class OtherReader {
  documents = 0;
  /** Documents that it refuses. */
  readonly refusals = new Findings();
  /** Documents that it reads as another tree. */
  readonly differences = new Findings();

  constructor(
    readonly name: string,
    readonly read: (documents: readonly string[]) => Promise<Answer[]>,
  ) {}

  async compare(documents: readonly string[], expected: readonly Answer[]): Promise<void> {
    this.documents += documents.length;
    for (const difference of differencesOf(documents, expected, await this.read(documents))) {
      (isRefusal(difference.found) ? this.refusals : this.differences).add(difference);
    }
  }
}

interface CompareOptions {
  /** Our reader. The tests pass a wrong one, to see that it is found. */
  readonly read?: (document: string) => Answer | undefined;
  readonly others?: readonly OtherReader[];
  /** Only one batch in this many goes to `others` too. */
  readonly sampleEvery?: number;
  readonly onBatch?: (tally: Tally) => void;
}

/** libyaml must read everything that ours reads, and as the same tree. */
export async function compareAll(
  documents: Iterable<string>,
  libyaml: PythonReader,
  { read = ourAnswer, others = [], sampleEvery = 40, onBatch = () => {} }: CompareOptions = {},
): Promise<Tally> {
  const tally: Tally = { documents: 0, read: 0, differences: new Findings() };
  let batch: string[] = [];
  let answers: Answer[] = [];
  let length = 0;
  let batches = 0;
  const settle = async () => {
    for (const difference of differencesOf(batch, await libyaml.read(batch), answers))
      tally.differences.add(difference);
    if (batches++ % sampleEvery === 0) {
      for (const other of others) await other.compare(batch, answers);
    }
    onBatch(tally);
    batch = [];
    answers = [];
    length = 0;
  };
  for (const document of documents) {
    tally.documents++;
    const answer = read(document);
    if (answer === undefined) continue;
    tally.read++;
    batch.push(document);
    answers.push(answer);
    length += document.length;
    if (batch.length === BATCH || length > BATCH_LENGTH) await settle();
  }
  await settle();
  return tally;
}

function* differencesOf(
  documents: readonly string[],
  expected: readonly Answer[],
  found: readonly Answer[],
): Generator<Difference> {
  for (const [index, document] of documents.entries()) {
    const [one, other] = [expected[index], found[index]];
    if (JSON.stringify(one) !== JSON.stringify(other)) yield { document, expected: one, found: other };
  }
}
