/**
 * A connection stays in step: what was left of a refused request is never taken for the next one.
 *
 * Each request is followed by bytes that look like a request where its body should be (`GET /health`, which would be
 * answered 200), and by a real one (`GET /after`, answered 404). After the answer itself nothing may come but the one to
 * `/after`, or the end of the connection, with or without the parser's bare 400.
 */

import { expect, test } from "bun:test";
import { sharedDaemon } from "../kit/family.ts";
import { connectRaw, type RawAnswer, requestBytes } from "../kit/raw-http.ts";

const daemon = sharedDaemon();

const SMUGGLED = requestBytes({ path: "/health" });
const AFTER = requestBytes({ path: "/after", headers: [["Connection", "close"]] });

/** How the look-alike travels as a body. */
const FRAMINGS = {
  declared: { header: ["Content-Length", String(SMUGGLED.length)], body: SMUGGLED },
  chunked: { header: ["Transfer-Encoding", "chunked"], body: `${chunk(SMUGGLED)}0\r\n\r\n` },
  "chunked with a trailer": {
    header: ["Transfer-Encoding", "chunked"],
    body: `${chunk(SMUGGLED)}0\r\nX-Trailer: yes\r\n\r\n`,
  },
} as const satisfies Record<string, { header: readonly [string, string]; body: string }>;

/** Requests by what is refused about them. */
const REQUESTS: readonly {
  readonly method: string;
  readonly path: string;
  readonly headers?: readonly (readonly [string, string])[];
  readonly status: number;
}[] = [
  ...["/spawn", "/register", "/deregister", "/health", "/nowhere"].flatMap((path) => [
    { method: "POST", path, headers: [["Origin", "null"] as const], status: 403 },
    { method: "POST", path, headers: [["Sec-Fetch-Site", "cross-site"] as const], status: 403 },
  ]),
  ...["/spawn", "/register", "/deregister"].map((path) => ({ method: "POST", path, status: 400 })),
  ...["/health", "/nowhere", "/status/x"].map((path) => ({ method: "POST", path, status: 404 })),
  ...["PUT", "DELETE", "PATCH", "OPTIONS", "HEAD"].flatMap((method) =>
    ["/health", "/spawn"].map((path) => ({ method, path, status: 404 })),
  ),
  { method: "GET", path: "/health", status: 200 },
  { method: "GET", path: "/status/x", status: 404 },
  { method: "GET", path: "/nowhere", status: 404 },
];

for (const [framing, { header, body }] of Object.entries(FRAMINGS)) {
  for (const timing of ["at once", "after the answer"] as const) {
    test(`a ${framing} body sent ${timing} is never the next request`, async () => {
      for (const { method, path, headers = [], status } of REQUESTS) {
        // A body that is read is waited for.
        if (status === 400 && timing === "after the answer") continue;
        const connection = await connectRaw(daemon().port);
        const toHead = method === "HEAD";
        const head = requestBytes({ method, path, headers: [...headers, header] });
        connection.send(timing === "at once" ? head + body + AFTER : head);
        const first = await connection.answer({ toHead });
        expect([method, path, first?.status]).toEqual([method, path, status]);
        if (timing === "after the answer") connection.send(body + AFTER);
        const others: RawAnswer[] = [];
        for (let next = await connection.answer(); next; next = await connection.answer()) others.push(next);
        connection.close();
        const told = others.map(({ status, body }) => `${method} ${path}: ${status} ${body}`.trim());
        const after = `${method} ${path}: 404 {"error":"not found"}`;
        expect([[], [after], [`${method} ${path}: 400`]]).toContainEqual(told);
      }
    });
  }
}

const pathOf = (index: number) => (index % 3 === 0 ? "/health" : `/status/${index}`);
const bodyOf = (index: number) => (index % 3 === 0 ? "{}" : '{"error":"session not found"}');

test("a few of the requests sent ahead are answered in order, and the last answer closes the connection", async () => {
  const connection = await connectRaw(daemon().port);
  connection.send(Array.from({ length: 200 }, (_, index) => requestBytes({ path: pathOf(index) })).join(""));
  const answers: RawAnswer[] = [];
  for (let next = await connection.answer(); next; next = await connection.answer()) answers.push(next);
  expect(answers.map(({ body }) => body)).toEqual(answers.map((_, index) => bodyOf(index)));
  expect(answers.map(({ headers }) => headers.get("connection"))).toEqual(
    answers.map((_, index) => (index === answers.length - 1 ? "close" : undefined)),
  );
  expect(answers.length).toBeWithin(1, 17);
  connection.close();
});

test("requests that each wait for the previous answer are always answered", async () => {
  const connection = await connectRaw(daemon().port);
  for (let index = 0; index < 300; index++) {
    connection.send(requestBytes({ path: pathOf(index) }));
    const answer = await connection.answer();
    expect([answer?.body, answer?.headers.get("connection")]).toEqual([bodyOf(index), undefined]);
  }
  connection.close();
});

test("many connections that wait for their answers are never mistaken for one that sends ahead", async () => {
  const answers = await Promise.all(
    Array.from({ length: 32 }, async () => {
      const connection = await connectRaw(daemon().port);
      const seen = new Set<string>();
      for (let index = 0; index < 100; index++) {
        connection.send(requestBytes({ path: "/health" }));
        const answer = await connection.answer();
        seen.add(`${answer?.body} ${answer?.headers.get("connection")}`);
      }
      connection.close();
      return [...seen];
    }),
  );
  expect(answers).toEqual(answers.map(() => ["{} undefined"]));
});

test("an ambiguous length is never answered as two requests", async () => {
  const ambiguous = [
    [
      ["Content-Length", "4"],
      ["Transfer-Encoding", "chunked"],
    ],
    [
      ["Content-Length", "2"],
      ["Content-Length", "3"],
    ],
    [["Content-Length", "+2"]],
    [["Content-Length", "-2"]],
    [["Content-Length", "0x2"]],
    [["Content-Length", "2, 2"]],
    [["Content-Length", ""]],
    [["Content-Length", "99999999999999999999999999"]],
    [["Transfer-Encoding", "gzip"]],
    [["Transfer-Encoding", "chunked, gzip"]],
    [["Transfer-Encoding", "xchunked"]],
    [["Transfer-Encoding ", "chunked"]],
  ] as const;
  for (const headers of ambiguous) {
    const connection = await connectRaw(daemon().port);
    connection.send(requestBytes({ method: "POST", path: "/spawn", headers }) + SMUGGLED + AFTER);
    const statuses: number[] = [];
    for (let next = await connection.answer(); next; next = await connection.answer())
      statuses.push(next.status);
    connection.close();
    expect({ headers, statuses: statuses.filter((status) => status === 200) }).toEqual({
      headers,
      statuses: [],
    });
  }
});

function chunk(text: string): string {
  return `${text.length.toString(16)}\r\n${text}\r\n`;
}
