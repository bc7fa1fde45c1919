/** What one request may cost: bodies of 64 KiB, heads that the parser takes, and not a byte more is waited for. */

import { expect, test } from "bun:test";
import { sharedDaemon } from "../kit/family.ts";
import { connectRaw, exchangeRaw, type RawAnswer, requestBytes } from "../kit/raw-http.ts";
import { until } from "../kit/until.ts";

const daemon = sharedDaemon();

const LIMIT = 64 * 1024;
const BODIED = ["/spawn", "/register", "/deregister"] as const;
const CHUNKED = ["Transfer-Encoding", "chunked"] as const;

/** A body that is understood, filled up to `length` bytes. */
function bodyOf(length: number): string {
  return '{"name":"local/child","version":"1","session_id":"s","outcome":"failed"}'.padEnd(length, " ");
}

function chunk(text: string): string {
  return `${text.length.toString(16)}\r\n${text}\r\n`;
}

function post(path: string, header: readonly [string, string]): string {
  return requestBytes({ method: "POST", path, headers: [header] });
}

function expectTooLarge(answer: RawAnswer | undefined): void {
  expect(answer?.status).toBe(413);
  expect(answer?.headers.get("content-type")).toStartWith("application/json");
  expect(JSON.parse(answer?.body ?? "")).toEqual({ error: expect.stringContaining("65536 bytes") });
}

test("a body of exactly 64 KiB is read, and one byte more gets 413, declared or chunked", async () => {
  for (const path of BODIED) {
    const fits = bodyOf(LIMIT);
    const over = bodyOf(LIMIT + 1);
    const declared = requestBytes({ method: "POST", path, body: fits });
    expect((await exchangeRaw(daemon().port, declared))?.status).toBe(403);
    expectTooLarge(await exchangeRaw(daemon().port, requestBytes({ method: "POST", path, body: over })));
    const inPieces = (text: string) =>
      `${post(path, CHUNKED)}${(text.match(/.{1,7000}/gs) ?? []).map(chunk).join("")}0\r\n\r\n`;
    expect((await exchangeRaw(daemon().port, inPieces(fits)))?.status).toBe(403);
    expectTooLarge(await exchangeRaw(daemon().port, inPieces(over)));
  }
});

test("a body that is declared too large is refused before any of it arrives", async () => {
  for (const path of BODIED) {
    for (const length of [LIMIT + 1, 2 ** 31, 2 ** 32 + 1, Number.MAX_SAFE_INTEGER]) {
      expectTooLarge(await exchangeRaw(daemon().port, post(path, ["Content-Length", String(length)])));
    }
  }
});

test("a length that is sent twice limits the body as once does", async () => {
  for (const path of BODIED) {
    for (const [length, status] of [
      [LIMIT, 403],
      [LIMIT + 1, 413],
      // Little enough for one write: a client that a busy machine stops halfway would be given up.
      [LIMIT + 50_000, 413],
    ] as const) {
      const lengths = Array.from({ length: 2 }, () => ["Content-Length", String(length)] as const);
      const request = requestBytes({ method: "POST", path, headers: lengths }) + bodyOf(length);
      expect([path, length, (await exchangeRaw(daemon().port, request))?.status]).toEqual([
        path,
        length,
        status,
      ]);
    }
  }
});

test("an endless chunked body is refused at the limit", async () => {
  for (const path of BODIED) {
    const connection = await connectRaw(daemon().port);
    connection.send(post(path, CHUNKED));
    for (let sent = 0; sent <= LIMIT; sent += 8192) connection.send(chunk("x".repeat(8192)));
    expectTooLarge(await connection.answer());
    connection.close();
    const oneChunk = `${post(path, CHUNKED)}ffffffff\r\n${"x".repeat(LIMIT + 1)}`;
    expectTooLarge(await exchangeRaw(daemon().port, oneChunk));
  }
});

test("a client that writes all of its large body before it reads still gets the answer", async () => {
  const curl = Bun.which("curl");
  if (!curl) return;
  const body = "x".repeat(1024 * 1024);
  const ask = async (index: number) => {
    const headers = index % 2 === 0 ? [] : ["-H", "Transfer-Encoding: chunked"];
    const process = Bun.spawn(
      [curl, "-sS", "-H", "Expect:", ...headers, "--data-binary", "@-", `${daemon().url}/spawn`],
      { stdin: Buffer.from(body), stdout: "pipe", stderr: "pipe" },
    );
    const [out, err] = await Promise.all([process.stdout.text(), process.stderr.text()]);
    return out + err;
  };
  const refused = '{"error":"the body is larger than 65536 bytes"}';
  let left = Array.from({ length: 12 }, (_, index) => index);
  // Again for those that a busy machine stopped for so long that they were given up.
  await until("each gets the answer", async () => {
    const answers = await Promise.all(left.map(ask));
    left = left.filter((_, place) => answers[place] !== refused);
    return left.length === 0;
  });
});

test("a body shorter than its declared length is not a request, and keeps nobody waiting", async () => {
  for (const path of BODIED) {
    for (const [header, part] of [
      [["Content-Length", "100"], '{"outcome":"complete"}'],
      [CHUNKED, "16\r\n{"],
      [CHUNKED, chunk('{"outcome":"complete"}')],
    ] as const) {
      const connection = await connectRaw(daemon().port);
      connection.send(post(path, header) + part);
      connection.finish();
      const answer = await connection.answer();
      expect([undefined, 400]).toContain(answer?.status);
      await connection.ending();
      connection.close();
    }
  }
});

test("a body longer than its length is cut there", async () => {
  const connection = await connectRaw(daemon().port);
  const body = '{"outcome":"nothing"}';
  connection.send(`${requestBytes({ method: "POST", path: "/deregister", body })}${body}\r\n\r\n`);
  expect(JSON.parse((await connection.answer())?.body ?? "")).toEqual({
    error: "outcome 'nothing' is not 'complete' or 'failed'",
  });
  const surplus = await connection.answer();
  expect([undefined, 400]).toContain(surplus?.status);
  connection.close();
});

test("a body with wrong chunk sizes is refused", async () => {
  for (const broken of [
    "zz\r\n{}\r\n0\r\n\r\n",
    "-2\r\n{}\r\n",
    "1\r\n{}\r\n0\r\n\r\n",
    "ffffffffffffffffff\r\n{}",
  ]) {
    const answer = await exchangeRaw(daemon().port, post("/deregister", CHUNKED) + broken);
    expect([undefined, 400]).toContain(answer?.status);
  }
});

test("a body that is not a JSON object in UTF-8 gets 400 with one sentence", async () => {
  const bodies = [
    "",
    " ",
    "{",
    "null",
    "[]",
    "1",
    '"x"',
    "{}{}",
    "{'a':1}",
    "\xef\xbb\xbf{}",
    '{"outcome":"\xff"}',
    '{"outcome":"\xc0\x80"}',
    '{"outcome":"\xed\xa0\x80"}',
    "\x00",
    "[".repeat(30_000),
    `${"[".repeat(30_000)}${"]".repeat(30_000)}`,
    '{"a":'.repeat(10_000),
    '{"__proto__":{"outcome":"complete"}}',
    '{"outcome":["complete"]}',
    '{"outcome":{"toString":"complete"}}',
  ];
  for (const path of BODIED) {
    for (const body of bodies) {
      const answer = await exchangeRaw(daemon().port, requestBytes({ method: "POST", path, body }));
      expect([path, body.slice(0, 40), answer?.status]).toEqual([path, body.slice(0, 40), 400]);
      const told: Record<string, unknown> = JSON.parse(answer?.body ?? "");
      expect(Object.keys(told)).toEqual(["error"]);
      expect(String(told.error)).toMatch(/^[ -~]{10,200}$/);
    }
  }
});

test("a head that is too large is refused without a body, and the daemon keeps running", async () => {
  const large = "y".repeat(20_000);
  const heads = [
    requestBytes({ path: `/${large}` }),
    requestBytes({ path: "/health", headers: [["X-Large", large]] }),
    requestBytes({ path: "/health", headers: [[large, "x"]] }),
    requestBytes({
      path: "/health",
      headers: Array.from({ length: 1000 }, (_, n) => [`X-${n}`, "x"] as const),
    }),
    requestBytes({
      path: "/spawn",
      method: "POST",
      headers: [["x-murmur-spawn-credential", large]],
      body: "{}",
    }),
    `GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Endless: ${"y".repeat(1024 * 1024)}`,
    "y".repeat(1024 * 1024),
  ];
  for (const head of heads) {
    const answer = await exchangeRaw(daemon().port, head);
    expect([400, 431, undefined]).toContain(answer?.status);
    expect(answer?.body ?? "").toBe("");
  }
  expect((await daemon().caller.send("/health")).status).toBe(200);
});
