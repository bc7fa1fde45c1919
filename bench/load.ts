/**
 * A closed-loop HTTP client that costs less than the servers it drives: requests are prepared bytes, each connection has
 * one in flight, and only the status and the length of an answer are read.
 *
 * It shares two cores with the server it measures, so it must use as little processor time as possible.
 */

import type { Socket } from "bun";
import { Latencies } from "./latencies.ts";

export interface LoadOptions {
  readonly port: number;
  readonly connections: number;
  /** The bytes of the next request; `undefined` if there is none left and the connection rests. */
  readonly next: (connection: number) => Uint8Array | undefined;
  /** Status that every answer must have. */
  readonly expect: number;
  /** Called with the body of every answer, if given. */
  readonly onAnswer?: (connection: number, body: string) => void;
  /** Whether each request opens a new connection. */
  readonly reconnect?: boolean;
  /** No request is sent after this many milliseconds. */
  readonly forMs?: number;
}

export interface LoadResult {
  readonly answers: number;
  readonly seconds: number;
  readonly latencies: Latencies;
}

/** The same request so many times, by whichever connection is free. */
export function repeated(request: Uint8Array, count: number): LoadOptions["next"] {
  let left = count;
  return () => (left-- > 0 ? request : undefined);
}

interface Connection {
  readonly number: number;
  sentAt: number;
  /** The first part of an answer that arrives in several. */
  partial: Buffer | undefined;
  over: boolean;
}

/**
 * Drives the load until nothing is left to send or its time is over, and all answers have arrived.
 *
 * @throws {Error} at the first answer with an unexpected status, which it quotes, and if a connection ends before its
 *   answer: a figure from wrong answers would be worthless
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
    // A few hundred bytes always fit the buffer of an idle connection.
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

/** Reads an answer's head; `undefined` if it is not complete yet. Equal heads are parsed once. */
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
