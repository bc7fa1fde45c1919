/**
 * HTTP/1.1 over a bare socket, for requests that no HTTP client would send: what goes out is bytes, what comes back is
 * parsed strictly, and whether the connection ended or was reset is told apart.
 */

import type { Socket } from "bun";

export interface RawAnswer {
  readonly status: number;
  /** Names in lower case; a repeated header's values are joined by a comma. */
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
}

/** How a connection came to its end, seen from here. */
export type Ending = "open" | "ended" | "reset";

export interface RawConnection {
  /** Queues bytes; they leave as fast as the peer takes them. */
  send(bytes: string | Uint8Array): void;
  /** The next answer, or `undefined` where the connection ended before one was whole; one to HEAD has no body. */
  answer(options?: {
    readonly deadlineMs?: number;
    readonly toHead?: boolean;
  }): Promise<RawAnswer | undefined>;
  /** Resolves once the peer has ended or reset the connection. */
  ending(deadlineMs?: number): Promise<Ending>;
  /** Bytes that came after the last answer taken. */
  rest(): string;
  /** Stops taking bytes from the peer, as a client does that has hung. */
  stopReading(): void;
  resumeReading(): void;
  /** Bytes that the peer has not taken yet. */
  unsent(): number;
  /** Says that nothing more comes, and stays open for reading. */
  finish(): void;
  close(): void;
}

const DEADLINE_MS = 60_000;

/** Connects to a loopback port. Rejects if nothing accepts. */
export async function connectRaw(port: number): Promise<RawConnection> {
  let received = Buffer.alloc(0);
  let ending: Ending = "open";
  let outgoing = Buffer.alloc(0);
  let wake = Promise.withResolvers<void>();
  const changed = () => {
    wake.resolve();
    wake = Promise.withResolvers<void>();
  };
  const settle = (how: Ending) => {
    if (ending === "open") ending = how;
    changed();
  };
  const pump = (socket: Socket) => {
    while (outgoing.length > 0) {
      const taken = socket.write(outgoing);
      if (taken <= 0) return;
      outgoing = outgoing.subarray(taken);
    }
  };
  const socket = await Bun.connect({
    hostname: "127.0.0.1",
    port,
    allowHalfOpen: true,
    socket: {
      data(_, chunk) {
        received = Buffer.concat([received, chunk]);
        changed();
      },
      drain: (socket) => pump(socket),
      end: () => settle("ended"),
      close: (_, error) => settle(error ? "reset" : "ended"),
      error: () => settle("reset"),
    },
  });
  const until = async <Found>(find: () => Found | undefined, deadlineMs: number, what: string) => {
    const timeout = Bun.sleep(deadlineMs).then(() => "late" as const);
    for (;;) {
      const found = find();
      if (found !== undefined) return found;
      if ((await Promise.race([wake.promise, timeout])) === "late") {
        throw new Error(
          `no ${what} within ${deadlineMs} ms; received ${JSON.stringify(received.toString())}`,
        );
      }
    }
  };
  return {
    send(bytes) {
      outgoing = Buffer.concat([outgoing, typeof bytes === "string" ? Buffer.from(bytes, "latin1") : bytes]);
      pump(socket);
    },
    async answer({ deadlineMs = DEADLINE_MS, toHead = false } = {}) {
      const found = await until(
        () => parseAnswer(received, toHead) ?? (ending === "open" ? undefined : "none"),
        deadlineMs,
        "answer",
      );
      if (found === "none") return undefined;
      received = received.subarray(found.length);
      return found.answer;
    },
    ending: (deadlineMs = DEADLINE_MS) =>
      until(() => (ending === "open" ? undefined : ending), deadlineMs, "end of the connection"),
    rest: () => received.toString("latin1"),
    stopReading: () => socket.pause(),
    resumeReading: () => socket.resume(),
    unsent: () => outgoing.length,
    finish: () => void socket.shutdown(),
    close: () => socket.terminate(),
  };
}

function parseAnswer(
  bytes: Buffer,
  toHead: boolean,
): { readonly answer: RawAnswer; readonly length: number } | undefined {
  const headEnd = bytes.indexOf("\r\n\r\n");
  if (headEnd === -1) return undefined;
  const [statusLine = "", ...lines] = bytes.toString("latin1", 0, headEnd).split("\r\n");
  const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(`${statusLine} `)?.[1]);
  if (!status) throw new Error(`not a status line: ${JSON.stringify(statusLine)}`);
  const headers = new Map<string, string>();
  for (const line of lines) {
    const colon = line.indexOf(":");
    const name = line.slice(0, colon).toLowerCase();
    const value = line.slice(colon + 1).trim();
    const before = headers.get(name);
    headers.set(name, before === undefined ? value : `${before}, ${value}`);
  }
  const length = toHead ? 0 : Number(headers.get("content-length") ?? 0);
  const start = headEnd + 4;
  if (bytes.length < start + length) return undefined;
  return {
    answer: { status, headers, body: bytes.toString("utf8", start, start + length) },
    length: start + length,
  };
}

/** One request's bytes. `Host` is put first unless `headers` brings its own, or `host: null` leaves it out. */
export function requestBytes(options: {
  readonly method?: string;
  readonly path: string;
  readonly host?: string | null;
  readonly headers?: readonly (readonly [string, string])[];
  readonly body?: string;
}): string {
  const { method = "GET", path, host = "127.0.0.1", headers = [], body } = options;
  const lines = [`${method} ${path} HTTP/1.1`];
  if (host !== null) lines.push(`Host: ${host}`);
  for (const [name, value] of headers) lines.push(`${name}: ${value}`);
  if (body !== undefined) lines.push(`Content-Length: ${Buffer.byteLength(body, "latin1")}`);
  return `${lines.join("\r\n")}\r\n\r\n${body ?? ""}`;
}

/** Sends the bytes on a connection of their own and gives the first answer. */
export async function exchangeRaw(port: number, bytes: string | Uint8Array): Promise<RawAnswer | undefined> {
  const connection = await connectRaw(port);
  try {
    connection.send(bytes);
    return await connection.answer();
  } finally {
    connection.close();
  }
}
