/** Where a runtime writes: its own standard streams, or what a test puts in their place. */
export interface Output {
  /** Settles when the bytes are taken, so that a slow reader slows its writers and fills no memory. Never rejects. */
  readonly stdout: (bytes: Uint8Array) => Promise<void>;
  readonly stderr: (bytes: Uint8Array) => Promise<void>;
}

/** The streams of this process. A reader that went away is no failure: what it does not read is thrown away. */
export function processOutput(): Output {
  return { stdout: writerOf(process.stdout), stderr: writerOf(process.stderr) };
}

const listened = new WeakSet<NodeJS.WriteStream>();

function writerOf(stream: NodeJS.WriteStream): (bytes: Uint8Array) => Promise<void> {
  if (!listened.has(stream)) stream.on("error", () => {});
  listened.add(stream);
  return (bytes) => new Promise((resolve) => stream.write(bytes, () => resolve()));
}
