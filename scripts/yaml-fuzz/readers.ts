/** The readers that are compared: ours, the `yaml` package, and PyYAML with libyaml's scanner or its own. */

import { join } from "node:path";
import { isMap, isScalar, isSeq, parseDocument } from "yaml";
import { YamlFault } from "../../src/registry/yaml/fault.ts";
import { readYamlTree } from "../../src/registry/yaml/read-tree.ts";
import type { YamlTree } from "../../src/registry/yaml/tree.ts";

/** A tree in the format of reader.py, or why there is none. */
export type Answer = unknown;

export function isRefusal(answer: Answer): answer is { readonly refused: string } {
  return typeof answer === "object" && answer !== null && "refused" in answer;
}

/**
 * Our tree of a document; `undefined` if it is refused.
 *
 * @throws Error naming the document, if the reader throws anything but a fault
 */
export function ourAnswer(document: string): Answer | undefined {
  try {
    return plainTree(readYamlTree(document));
  } catch (error) {
    if (error instanceof YamlFault) return undefined;
    throw new Error(`thrown while reading ${JSON.stringify(document)}`, { cause: error });
  }
}

function plainTree(tree: YamlTree): Answer {
  switch (tree.kind) {
    case "text":
      return (tree.plain ? "=" : '"') + tree.text;
    case "list":
      return tree.items.map(plainTree);
    case "map":
      return { map: [...tree.entries].map(([key, value]) => [key, plainTree(value)]) };
    default:
      return tree satisfies never;
  }
}

/** The answer of the `yaml` package, a reader of YAML 1.2. */
export function libraryAnswer(document: string): Answer {
  const parsed = parseDocument(document, {
    schema: "failsafe",
    uniqueKeys: false,
    prettyErrors: false,
    logLevel: "error",
  });
  const error = parsed.errors[0];
  if (error) return { refused: error.message };
  return answerOf(parsed.contents);
}

function answerOf(node: unknown): Answer {
  if (isSeq(node)) return node.items.map(answerOf);
  if (isMap(node))
    return {
      map: node.items.map(({ key, value }) => [isScalar(key) ? key.value : answerOf(key), answerOf(value)]),
    };
  if (!isScalar(node)) return "=";
  return (node.type === "PLAIN" || node.type === undefined ? "=" : '"') + String(node.value ?? "");
}

/** The Python that Debian installs `python3-yaml` for. Another Python in the PATH may lack it. */
const PYTHON = "/usr/bin/python3";

/** Whether libyaml is installed here. */
export async function hasLibyaml(): Promise<boolean> {
  try {
    const asked = Bun.spawn([PYTHON, "-c", "from yaml import CSafeLoader"], {
      stdout: "ignore",
      stderr: "ignore",
    });
    return (await asked.exited) === 0;
  } catch {
    return false;
  }
}

/** PyYAML in a separate process. */
export class PythonReader implements AsyncDisposable {
  readonly #process;
  #unread = Buffer.alloc(0);
  readonly #chunks: AsyncIterator<Uint8Array>;

  constructor(which: "libyaml" | "python") {
    this.#process = Bun.spawn([PYTHON, join(import.meta.dir, "reader.py"), which], {
      stdin: "pipe",
      stdout: "pipe",
      stderr: "inherit",
    });
    this.#chunks = this.#process.stdout[Symbol.asyncIterator]();
  }

  /** One answer for each document, in order. One batch at a time. */
  async read(documents: readonly string[]): Promise<Answer[]> {
    this.#process.stdin.write(frameOf(documents));
    // Awaited at the end: the flush of a large batch takes until Python has read it.
    const written = this.#process.stdin.flush();
    const length = (await this.#take(4)).readUInt32LE();
    const answers: Answer[] = JSON.parse((await this.#take(length)).toString());
    await written;
    if (answers.length !== documents.length) throw new Error("the reader lost count");
    return answers;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#process.stdin.end();
    await this.#process.exited;
  }

  async #take(length: number): Promise<Buffer> {
    const chunks = [this.#unread];
    let size = this.#unread.length;
    while (size < length) {
      const { done, value } = await this.#chunks.next();
      if (done) throw new Error("the reader ended");
      chunks.push(Buffer.from(value));
      size += value.length;
    }
    const whole = Buffer.concat(chunks);
    this.#unread = whole.subarray(length);
    return whole.subarray(0, length);
  }
}

function frameOf(documents: readonly string[]): Buffer {
  const parts: Buffer[] = [uint32(documents.length)];
  for (const document of documents) {
    const bytes = Buffer.from(document);
    parts.push(uint32(bytes.length), bytes);
  }
  return Buffer.concat(parts);
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}
