/**
 * Twenty thousand generated requests over real sockets. After each batch the daemon is alive, its counts are a model's,
 * and no answer was other than the declared statuses and JSON. A failure prints the seed and the path; run again with
 * `FUZZ_SEED=<seed>`.
 */

import { expect, test } from "bun:test";
import fc from "fast-check";
import { sharedDaemon } from "../kit/family.ts";
import { VERSION } from "../kit/host.ts";
import { connectRaw, requestBytes } from "../kit/raw-http.ts";

const SEED = Number(process.env.FUZZ_SEED ?? 20_260_801);
const BATCHES = 100;
const REQUESTS_A_BATCH = 200;
/** Requests on one connection, one after another without waiting. */
const PIPELINE = 10;

const daemon = sharedDaemon(["--max-live-capsules", "1000000", "--max-concurrent", "1000000"], {
  env: { CONSOLA_LEVEL: "0" },
});

interface Wire {
  readonly bytes: Buffer;
  /** Where the bytes are cut, as shares of their length. */
  readonly cuts: readonly number[];
}

const printable = fc.string({ maxLength: 40 });
/** Latin-1: each character is one byte on the wire, so this is any byte but those that end a line. */
const headerBytes = fc.uint8Array({ maxLength: 40 }).map((bytes) =>
  Buffer.from(bytes)
    .toString("latin1")
    .replace(/[\r\n\0]/g, "\xff"),
);
const method = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom("GET", "POST") },
  fc.constantFrom("PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "get", "FOO", ""),
);
const path = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.constantFrom("/health", "/spawn", "/register", "/deregister", "/status/ses_live"),
  },
  fc.constantFrom(
    "/",
    "*",
    "//health",
    "/health/",
    "/status/",
    "/status/..",
    "/status/%2e%2e",
    "/spawn?x",
    "/%00",
    "/status/a%2fb",
  ),
  fc.webPath().map((text) => `/${text}`),
  printable.map((text) => `/status/${text.replace(/[ \r\n]/g, "")}`),
);
const json = fc.oneof(
  fc.record({
    session_id: fc.oneof(fc.constant("ses_live"), printable),
    name: fc.oneof(fc.constantFrom("local/child", "local/unlisted", "local/../x", "LOCAL/parent"), printable),
    version: fc.oneof(fc.constantFrom(VERSION, "..", "a/b", ""), printable),
    outcome: fc.oneof(fc.constantFrom("done", "Complete", ""), printable),
  }),
  fc.json(),
);
const body = fc.oneof(
  json.map((value) => Buffer.from(typeof value === "string" ? value : JSON.stringify(value))),
  fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
);

/** A token with one byte changed somewhere, or cut, or of the other family: never the token itself. */
const mutatedToken = (token: string) =>
  fc
    .tuple(
      fc.nat(token.length - 1),
      fc.integer({ min: 1, max: 255 }),
      fc.constantFrom("flip", "cut", "double", "family"),
    )
    .map(([at, flip, how]) => {
      switch (how) {
        case "cut":
          return token.slice(0, at);
        case "double":
          return `${token.slice(0, at)}${token[at]}${token.slice(at)}`;
        case "family":
          return token.startsWith("msc1") ? token.replace("msc1", "msa1") : token.replace("msa1", "msc1");
        default: {
          const bytes = Buffer.from(token, "latin1");
          bytes[at] = (bytes[at] ?? 0) ^ flip;
          // A line break ends the header, and the rest would be another header.
          return bytes.toString("latin1").replace(/[\r\n\0]/g, "\xff");
        }
      }
    })
    // White space around a header's value is not part of the value.
    .map((mutated) => (mutated.trim() === token ? `${mutated}x` : mutated));

function wireOf(tokens: readonly string[]): fc.Arbitrary<Wire> {
  const token = fc.oneof(...tokens.map(mutatedToken));
  const header = fc.oneof(
    fc.tuple(fc.constantFrom("x-murmur-spawn-credential", "X-Murmur-Spawn-Approval"), token),
    fc.tuple(
      fc.constantFrom("x-murmur-spawn-credential", "x-murmur-spawn-approval", "X-Any", "Cookie"),
      headerBytes,
    ),
    fc.constantFrom(
      ["Origin", "null"] as const,
      ["Sec-Fetch-Site", "cross-site"] as const,
      ["Host", "evil.example"] as const,
      ["Content-Length", "1"] as const,
      ["Transfer-Encoding", "chunked"] as const,
      ["Expect", "100-continue"] as const,
      ["Connection", "close"] as const,
    ),
  );
  // A name that registers without an approval is left out of these bodies, so that the model need not read the answers.
  const request = fc
    .record({
      method,
      path,
      host: fc.constantFrom("127.0.0.1", "127.0.0.1", "localhost:1", null, "evil.example"),
      headers: fc.array(header, { maxLength: 5 }),
      body: fc.option(body),
      framing: fc.constantFrom("declared", "declared", "chunked", "both", "short", "long"),
    })
    .map(({ body, framing, ...rest }) => Buffer.concat([headOf(rest, body, framing), framed(body, framing)]));
  return fc.record({
    bytes: fc.array(request, { minLength: PIPELINE, maxLength: PIPELINE }).map((all) => Buffer.concat(all)),
    cuts: fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 6 }),
  });
}

type Head = Parameters<typeof requestBytes>[0];

function headOf(head: Omit<Head, "body">, body: Buffer | null, framing: string): Buffer {
  if (body === null) return Buffer.from(requestBytes(head), "latin1");
  const length = body.length + (framing === "short" ? -1 : framing === "long" ? 1 : 0);
  const declared = ["Content-Length", String(Math.max(0, length))] as const;
  const chunked = ["Transfer-Encoding", "chunked"] as const;
  const more = framing === "both" ? [declared, chunked] : framing === "chunked" ? [chunked] : [declared];
  return Buffer.from(requestBytes({ ...head, headers: [...(head.headers ?? []), ...more] }), "latin1");
}

function framed(body: Buffer | null, framing: string): Buffer {
  if (body === null) return Buffer.alloc(0);
  if (framing !== "chunked" && framing !== "both") return body;
  const size = Buffer.from(`${body.length.toString(16)}\r\n`);
  const end = Buffer.from("\r\n0\r\n\r\n");
  return body.length === 0 ? Buffer.from("0\r\n\r\n") : Buffer.concat([size, body, end]);
}

const DECLARED = [200, 400, 403, 404, 408, 413, 500];
/** Of the parser, bare. */
const BARE = [100, 400, 413, 417, 431, 501, 505];

/** Sends the bytes in their pieces and judges every answer until the connection ends; gives how many there were. */
async function throwAt(port: number, { bytes, cuts }: Wire): Promise<number> {
  const connection = await connectRaw(port);
  try {
    const at = [...cuts.map((share) => Math.floor(share * bytes.length)), bytes.length].sort((a, b) => a - b);
    let from = 0;
    for (const to of at) {
      connection.send(bytes.subarray(from, to));
      from = to;
      // A turn of the loop, so that the pieces leave one by one.
      if (to < bytes.length) await new Promise((resolve) => setImmediate(resolve));
    }
    connection.finish();
    let answers = 0;
    for (let answer = await connection.answer(); answer; answer = await connection.answer()) {
      answers++;
      const { status, body, headers } = answer;
      expect([...headers.keys()].filter((name) => name.startsWith("access-control"))).toEqual([]);
      if (body === "") {
        expect(BARE).toContain(status);
        continue;
      }
      expect(DECLARED).toContain(status);
      expect(headers.get("content-type")).toStartWith("application/json");
      const told = JSON.parse(body) as Record<string, unknown>;
      if (status !== 200) expect(Object.keys(told)).toEqual(["error"]);
    }
    return answers;
  } finally {
    connection.close();
  }
}

test(`${BATCHES * REQUESTS_A_BATCH} generated requests change nothing (seed ${SEED})`, async () => {
  const { caller, port, stderr } = daemon();
  const credential = await caller.credential("ses_live", "local/parent");
  let answers = 0;
  for (let batch = 0; batch < BATCHES; batch++) {
    const approval = await caller.approval(credential, "local/child");
    const wires = fc.array(wireOf([credential, approval]), {
      minLength: REQUESTS_A_BATCH / PIPELINE,
      maxLength: REQUESTS_A_BATCH / PIPELINE,
    });
    const thrown = fc.asyncProperty(wires, async (all) => {
      const counts = await Promise.all(all.map((wire) => throwAt(port, wire)));
      answers += counts.reduce((sum, count) => sum + count, 0);
    });
    await fc.assert(thrown, { seed: SEED + batch, numRuns: 1, endOnFailure: true });
    expect(await caller.send("/health")).toEqual({ status: 200, text: "{}", json: {} });
    // The model: one session, and a child for each batch, whose approval no mutation of it has spent.
    expect((await caller.register(`ses_child_${batch}`, "local/child", approval)).status).toBe(200);
    expect((await caller.status("ses_live")).json).toEqual({
      status: "running",
      depth_remaining: 3,
      live_children: batch + 1,
      live_capsules: batch + 2,
    });
  }
  // Many connections end at their first fault; a fuzzer that is never answered tests nothing.
  expect(answers).toBeGreaterThan(BATCHES * (REQUESTS_A_BATCH / PIPELINE));
  expect(stderr()).not.toContain("internal-error");
});
