/**
 * A hostile neighbour without a token, in its own process: `bun neighbour.ts <port>`. Until it is killed, it does
 * everything that is known to slow the daemon down, all at once.
 */

import { type Behaviour, misbehave } from "./connections.ts";

/** How many artifacts it makes the daemon read again and again: `local/worst-0` and so on. */
export const WORST_ARTIFACTS = 40;

const REQUESTS_AHEAD = 4000;
const AHEAD = "GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".repeat(REQUESTS_AHEAD);

function post(path: string, body: object, headers = ""): string {
  const text = JSON.stringify(body);
  return `POST ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n${headers}Content-Length: ${text.length}\r\n\r\n${text}`;
}

let asked = 0;
const forged = "msa1.eyJ2IjoxfQ.AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

const BEHAVIOURS: Readonly<Record<string, Behaviour>> = {
  pipelining: {
    connections: 200,
    first: () => AHEAD,
    floods: true,
    deaf: true,
  },
  idle: { connections: 2000, first: () => "", pauseMs: 1000 },
  "slow bodies": {
    connections: 40,
    first: () => "POST /spawn HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 3000\r\n\r\n{",
    more: () => " ",
    pauseMs: 1000,
  },
  "unauthenticated readings": {
    connections: 8,
    first: () =>
      post(
        "/register",
        { session_id: `ses_x${asked}`, name: `local/worst-${asked++ % WORST_ARTIFACTS}`, version: "1.0.0" },
        `x-murmur-spawn-approval: ${forged}\r\nConnection: close\r\n`,
      ),
  },
  "lines for the log": {
    connections: 8,
    first: () =>
      `GET /nowhere HTTP/1.1\r\nHost: ${"\x01".repeat(2000)}\r\nOrigin: ${"\x02".repeat(2000)}\r\nConnection: close\r\n\r\n`,
  },
};

if (import.meta.main) {
  const [port, ...only] = process.argv.slice(2);
  for (const [name, behaviour] of Object.entries(BEHAVIOURS)) {
    if (only.length === 0 || only.includes(name)) misbehave(Number(port), behaviour);
  }
}
