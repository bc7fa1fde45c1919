/** Other ZIP readers, each in its own process, and what they read from an archive. */

import { join } from "node:path";

/** Python's `zipfile` by name and by unpacking, and three unpackers. */
export type Reader = "zipfile" | "zipfile-extract" | "unzip" | "7z" | "bsdtar";

/** The first 16 hex digits of the SHA-256 of the `murmur.yaml` that a reader shows; null if there is none. */
export type Views = Readonly<Partial<Record<Reader, string | null>>>;

const PYTHON = "/usr/bin/python3";
const COMMANDS: Readonly<Record<Reader, string>> = {
  zipfile: PYTHON,
  "zipfile-extract": PYTHON,
  unzip: "unzip",
  "7z": "7z",
  bsdtar: "bsdtar",
};

/** The readers that are installed here. Without Python, which runs the others, the list is empty. */
export function installed(readers: readonly Reader[]): Reader[] {
  if (!Bun.which(PYTHON)) return [];
  return readers.filter((reader) => Bun.which(COMMANDS[reader]));
}

export class ZipPeers implements AsyncDisposable {
  readonly #readers: readonly Reader[];
  readonly #process = Bun.spawn([PYTHON, join(import.meta.dir, "zip-peers.py")], {
    stdin: "pipe",
    stdout: "pipe",
    stderr: "inherit",
  });
  readonly #answers: AsyncIterator<string>;

  constructor(readers: readonly Reader[]) {
    this.#readers = readers;
    const lines = linesOf(this.#process.stdout);
    this.#answers = lines[Symbol.asyncIterator]();
  }

  /** Asks all readers about the archive at `path`, one archive at a time. */
  async views(path: string): Promise<Views> {
    this.#process.stdin.write(`${JSON.stringify({ path, readers: this.#readers })}\n`);
    await this.#process.stdin.flush();
    const { value, done } = await this.#answers.next();
    if (done) throw new Error("the readers have ended");
    return JSON.parse(value) as Views;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#process.stdin.end();
    await this.#process.exited;
  }
}

async function* linesOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  let rest = "";
  const decoder = new TextDecoder();
  for await (const chunk of stream) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    yield* lines;
  }
}
