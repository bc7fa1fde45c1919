/** Slow clients do not delay others, and are disconnected within 16 seconds. */

import { expect, test } from "bun:test";
import { sharedDaemon } from "../kit/family.ts";
import { connectRaw, type RawConnection, requestBytes } from "../kit/raw-http.ts";

const daemon = sharedDaemon(["--max-live-capsules", "100", "--max-concurrent", "100"]);
const caller = () => daemon().caller;

const post = (path: string, header: readonly [string, string]) =>
  requestBytes({ method: "POST", path, headers: [header] });
const LENGTH = ["Content-Length", "3000"] as const;
const CHUNKED = ["Transfer-Encoding", "chunked"] as const;

/** What a client sends first, and then bit by bit until it is disconnected. */
interface Dawdler {
  readonly first: string;
  readonly more?: string;
  /** The answer it gets before the connection ends, if any. */
  readonly status?: number;
  readonly reads?: false;
}

/** Far more answers than the sockets of both ends can hold. */
const PIPELINED_REQUESTS = 60_000;
const PIPELINED = requestBytes({ path: "/health" }).repeat(PIPELINED_REQUESTS);

const DAWDLERS: Readonly<Record<string, Dawdler>> = {
  "sends nothing": { first: "" },
  "sends one byte": { first: "G" },
  "stops in the request line": { first: "GET /hea" },
  "stops in a header": { first: "POST /spawn HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Le" },
  "stops before the empty line": { first: "GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n" },
  "trickles its head": { first: "GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Long: ", more: "y" },
  "trickles headers": { first: "GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n", more: "X: y\r\n" },
  "sends no body": { first: post("/spawn", LENGTH), status: 408 },
  "stops in its body": { first: `${post("/register", LENGTH)}{"name":`, status: 408 },
  "sends no chunk": { first: post("/deregister", CHUNKED), status: 408 },
  "stops in a chunk": { first: `${post("/spawn", CHUNKED)}5\r\n{`, status: 408 },
  "trickles its body": { first: post("/spawn", LENGTH), more: " ", status: 408 },
  "trickles chunks": { first: post("/register", CHUNKED), more: "1\r\n \r\n", status: 408 },
  "trickles a body nobody asked for": {
    first: requestBytes({ path: "/health", headers: [LENGTH] }),
    more: " ",
    status: 200,
  },
  "trickles the body of a refusal": {
    first: requestBytes({ method: "POST", path: "/spawn", headers: [LENGTH, ["Origin", "null"]] }),
    more: " ",
    status: 403,
  },
  "asks no more": { first: requestBytes({ path: "/health" }), status: 200 },
  "stops reading": { first: PIPELINED, reads: false },
};

const KINDS = Object.entries(DAWDLERS);

test("with 500 of them connected, others are answered and the 500 are disconnected", async () => {
  const credential = await caller().credential("ses_root", "local/parent");
  const clients = await Promise.all(
    Array.from({ length: 500 }, async (_, index) => {
      // Only a few stop reading: what they ask for is real work.
      const wanted = index < 2 * KINDS.length ? index % KINDS.length : index % (KINDS.length - 1);
      const [name, dawdler] = KINDS[wanted] as (typeof KINDS)[number];
      const connection = await connectRaw(daemon().port);
      if (dawdler.reads === false) connection.stopReading();
      connection.send(dawdler.first);
      return { name, dawdler, connection };
    }),
  );
  // More of the same, bit by bit, so that no idle timeout would ever end it.
  const trickle = setInterval(() => {
    for (const { dawdler, connection } of clients) if (dawdler.more) connection.send(dawdler.more);
  }, 500);
  try {
    expect((await caller().spawn(credential, "local/child")).status).toBe(200);
    expect((await caller().send("/health")).status).toBe(200);
    const reading = clients.filter(({ dawdler }) => dawdler.reads !== false);
    const late = Array.from({ length: SWEEP_SECONDS * 2 }, (_, index) => withoutBody(index * 500));
    const ends = await Promise.all(reading.map(async (client) => [client, await letGo(client)] as const));
    expect(await Promise.all(late)).toEqual(late.map(() => 408));
    for (const [{ name, dawdler }, end] of ends) expect([name, end]).toEqual([name, dawdler.status]);
    // These hang until all other clients are disconnected, and then find that most of their answers were dropped.
    for (const { dawdler, connection } of clients) {
      if (dawdler.reads !== false) continue;
      connection.resumeReading();
      await connection.ending();
      expect(connection.rest().split("HTTP/1.1 200").length - 1).toBeLessThan(PIPELINED_REQUESTS);
    }
    expect((await caller().spawn(credential, "local/child")).status).toBe(200);
  } finally {
    clearInterval(trickle);
    for (const { connection } of clients) connection.close();
  }
});

/** How often the runtime looks for idle connections. It may end one before its time by as much. */
const SWEEP_SECONDS = 4;

/** The answer to a client that announces a body and sends none, from a moment on: each is at another part of the sweep. */
async function withoutBody(afterMs: number): Promise<number | undefined> {
  await Bun.sleep(afterMs);
  const connection = await connectRaw(daemon().port);
  try {
    connection.send(post("/spawn", LENGTH));
    return await letGo({ connection });
  } finally {
    connection.close();
  }
}

/** Waits for the end of a connection; gives the status that came before it. */
async function letGo({ connection }: { readonly connection: RawConnection }): Promise<number | undefined> {
  const answer = await connection.answer();
  await connection.ending();
  return answer?.status;
}
