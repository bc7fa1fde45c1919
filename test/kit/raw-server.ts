import { afterEach } from "bun:test";
import { createServer, type Socket } from "node:net";

/** A TCP server on loopback that records everything it receives and sends what the test gives it. */
export interface RawServer {
  readonly port: number;
  readonly url: string;
  /** Every byte received so far, as Latin-1. */
  received(): string;
  close(): Promise<void>;
}

/** Called once for each connection, when the head of its request is in. */
export type RawAnswering = (socket: Socket) => void;

/** Called at the top of a test file: starts servers, each of which is closed after the test that it was started in. */
export function rawServers(): (answer: RawAnswering, onPort?: number) => Promise<RawServer> {
  const servers: RawServer[] = [];
  afterEach(async () => {
    await Promise.all(servers.splice(0).map((server) => server.close()));
  });
  return async (answer, onPort) => {
    const server = await rawServer(answer, onPort);
    servers.push(server);
    return server;
  };
}

export async function rawServer(answer: RawAnswering, onPort = 0): Promise<RawServer> {
  let received = "";
  const open = new Set<Socket>();
  const server = createServer((socket) => {
    open.add(socket);
    let mine = "";
    let answered = false;
    socket.on("error", () => {});
    socket.on("close", () => open.delete(socket));
    socket.on("data", (bytes) => {
      received += bytes.toString("latin1");
      mine += bytes.toString("latin1");
      if (!answered && mine.includes("\r\n\r\n")) {
        answered = true;
        answer(socket);
      }
    });
  });
  await new Promise<void>((listening) => server.listen(onPort, "127.0.0.1", listening));
  const address = server.address();
  const port = typeof address === "object" && address ? address.port : 0;
  return {
    port,
    url: `http://127.0.0.1:${port}`,
    received: () => received,
    async close() {
      for (const socket of open) socket.destroy();
      await new Promise((closed) => server.close(closed));
    },
  };
}

/** A whole answer, then the end of the connection. */
export function reply(
  status: number,
  body: string,
  headers: Record<string, string> = {},
): (socket: Socket) => void {
  const head = Object.entries({ "content-length": String(Buffer.byteLength(body)), ...headers });
  const lines = head.map(([name, value]) => `${name}: ${value}\r\n`).join("");
  return (socket) => socket.end(`HTTP/1.1 ${status} X\r\n${lines}\r\n${body}`);
}
