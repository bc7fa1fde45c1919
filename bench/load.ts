/**
 * A closed-loop HTTP client that costs less than the servers it drives: requests are bytes made beforehand, one is in
 * flight per connection, and of an answer nothing is looked at but its status and its length.
 *
 * It shares its two cores with what it measures, so whatever it saves is not taken from the server.
 */

import type { Socket } from "bun";
import { Latencies } from "./latencies.ts";

export interface LoadOptions {
  readonly port: number;
  readonly connections: number;
  /** The next request's bytes, whole; `undefined` where there is none left and the connection rests. */
  readonly next: (connection: number) => Uint8Array | undefined;
  /** Status that every answer must have. */
  readonly expect: number;
  /** Called with the body of every answer, where it is wanted. */
  readonly onAnswer?: (connection: number, body: string) => void;
  /** Whether each request opens a connection of its own. */
  readonly reconnect?: boolean;
  /** No request is sent after this many milliseconds. */
  readonly forMs?: number;
}

export interface LoadResult {
  readonly answers: number;
  readonly seconds: number;
  readonly latencies: Latencies;
}

interface Connection {
  readonly number: number;
  sentAt: number;
  /** An answer that came in several parts. */
  partial: Buffer | undefined;
  over: boolean;
}

/**
 * Drives the load until there is nothing left to send, or its time is over, and every answer has come.
 *
 * @throws {Error} at the first answer of another status than the expected one, which it quotes, and where a connection
 *   ends before its answer: a figure of wrong answers is none
 */
export function runLoad(options: LoadOptions): Promise<LoadResult> {
  const { promise, resolve, reject } = Promise.withResolvers<LoadResult>();
  const latencies = new Latencies();
  const started = performance.now();
  const until = started + (options.forMs ?? Number.POSITIVE_INFINITY);
  const readHead = createHeadReader();
  let open = options.connections;

  const send = (socket: Socket<Connection>): void => {
    const connection = socket.data;
    const now = performance.now();
    const request = now < until ? options.next(connection.number) : undefined;
    if (request === undefined) {
      close(socket);
      if (--open === 0) resolve({ answers: latencies.count, seconds: (now - started) / 1000, latencies });
      return;
    }
    connection.sentAt = options.reconnect === true ? connection.sentAt : now;
    // A few hundred bytes always fit the buffer of a connection on which nothing is in flight.
    if (socket.write(request) !== request.length)
      reject(new Error("a request did not fit the socket's buffer"));
  };
  const close = (socket: Socket<Connection>): void => {
    socket.data.over = true;
    socket.end();
  };
  const receive = (socket: Socket<Connection>, chunk: Buffer): void => {
    const connection = socket.data;
    const received = connection.partial ? Buffer.concat([connection.partial, chunk]) : chunk;
    const head = readHead(received);
    if (head === undefined || received.length < head.end + head.bodyLength) {
      connection.partial = connection.partial ? received : Buffer.from(chunk);
      return;
    }
    connection.partial = undefined;
    latencies.add(performance.now() - connection.sentAt);
    if (head.status !== options.expect) {
      reject(new Error(`expected ${options.expect}, got: ${received.toString("utf8", 0, 600)}`));
    }
    options.onAnswer?.(connection.number, received.toString("utf8", head.end, head.end + head.bodyLength));
    if (options.reconnect === true) {
      close(socket);
      connect(connection.number);
    } else {
      send(socket);
    }
  };
  const lost = (socket: Socket<Connection>): void => {
    if (!socket.data.over) reject(new Error("a connection ended before its answer"));
  };
  const connect = (number: number): void => {
    const data = { number, sentAt: performance.now(), partial: undefined, over: false };
    const socket = { open: send, data: receive, close: lost };
    Bun.connect<Connection>({ hostname: "127.0.0.1", port: options.port, data, socket }).catch(reject);
  };
  for (let number = 0; number < options.connections; number++) connect(number);
  return promise;
}

interface Head {
  readonly status: number;
  /** Where the body begins. */
  readonly end: number;
  readonly bodyLength: number;
}

/** Reads an answer's head, or `undefined` where it is not whole yet. Equal heads are read once. */
function createHeadReader(): (received: Buffer) => Head | undefined {
  let text = "";
  let head: Head | undefined;
  return (received) => {
    const length = received.indexOf("\r\n\r\n");
    if (length === -1) return undefined;
    const found = received.toString("latin1", 0, length);
    if (head && found === text) return head;
    const bodyLength = /\r\ncontent-length: *([0-9]+)/i.exec(found)?.[1];
    if (bodyLength === undefined) throw new Error(`an answer without Content-Length: ${found}`);
    text = found;
    head = { status: Number(found.slice(9, 12)), end: length + 4, bodyLength: Number(bodyLength) };
    return head;
  };
}
