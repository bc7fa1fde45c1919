/** Who may talk to the daemon: no web page may, under any host name. */

import { expect, test } from "bun:test";
import { sharedDaemon } from "../kit/family.ts";
import { VERSION } from "../kit/host.ts";
import { connectRaw, exchangeRaw, type RawAnswer, requestBytes } from "../kit/raw-http.ts";

const daemon = sharedDaemon();

const ENDPOINTS = [
  ["GET", "/health"],
  ["POST", "/spawn"],
  ["POST", "/register"],
  ["POST", "/deregister"],
  ["GET", "/status/ses_nobody"],
  ["GET", "/nowhere"],
  ["POST", "/nowhere"],
  ["OPTIONS", "/spawn"],
  ["PUT", "/register"],
] as const;

const FOREIGN_HOSTS = [
  "evil.example",
  "127.0.0.1.evil.example",
  "127.evil.example",
  "localhost.evil.example",
  "user@127.0.0.1",
  "127.0.0.1@evil.example",
  "127.0.0.1:80@evil.example",
  "localhost.",
  "localhost:7700.evil.example",
  "127.0.0.1:7700:7700",
  "127.0.0.1:evil",
  "127.0.0.1, evil.example",
  "evil.example, 127.0.0.1",
  "127.0.0.1/",
  "127.0.0.1#evil.example",
  "127.0.0.1?evil.example",
  "127.0.0.1\\evil.example",
  "evil.example#127.0.0.1",
  "http://127.0.0.1",
  "127.0.0.2",
  "0.0.0.0",
  "[::]",
  "[::1].evil.example",
  "[::1%25lo]",
  "::1",
  "[::ffff:127.0.0.1]",
  "xn--localhost",
  "local\u00adhost",
  "127.0.0.\u00b9",
  "",
];

const FOREIGN_HEADERS = [
  [["Origin", "https://evil.example"]],
  [["Origin", "null"]],
  [["Origin", ""]],
  [["Origin", "http://127.0.0.1:7700"]],
  [["oRiGiN", "http://localhost"]],
  [["Sec-Fetch-Site", "cross-site"]],
  [["Sec-Fetch-Site", "same-site"]],
  [["Sec-Fetch-Site", "same-origin"]],
  [["Sec-Fetch-Site", ""]],
  [
    ["Sec-Fetch-Site", "none"],
    ["Sec-Fetch-Site", "cross-site"],
  ],
  [
    ["Sec-Fetch-Site", "none"],
    ["Origin", "https://evil.example"],
  ],
] as const;

function expectNoCors(answer: RawAnswer): void {
  expect([...answer.headers.keys()].filter((name) => name.startsWith("access-control"))).toEqual([]);
}

function expectForeign(answer: RawAnswer | undefined, about: RegExp): void {
  expect(answer?.status).toBe(403);
  const { error, ...others } = JSON.parse(answer?.body ?? "{}");
  expect(error).toMatch(about);
  expect(others).toEqual({});
  if (answer) expectNoCors(answer);
}

test("a Host that is not a loopback name is refused on every endpoint, in any spelling", async () => {
  for (const [method, path] of ENDPOINTS) {
    for (const host of FOREIGN_HOSTS) {
      expectForeign(await exchangeRaw(daemon().port, requestBytes({ method, path, host })), /Host/);
    }
  }
});

test("Origin, and a Sec-Fetch-Site other than none, are refused on every endpoint", async () => {
  for (const [method, path] of ENDPOINTS) {
    for (const headers of FOREIGN_HEADERS) {
      const answer = await exchangeRaw(daemon().port, requestBytes({ method, path, headers }));
      expectForeign(answer, /Origin|Sec-Fetch-Site/);
    }
  }
});

test("two Host headers are refused, in either order and even if both are valid", async () => {
  for (const [first, second] of [
    ["127.0.0.1", "evil.example"],
    ["evil.example", "127.0.0.1"],
    ["127.0.0.1", "127.0.0.1"],
  ] as const) {
    const bytes = requestBytes({ path: "/health", host: first, headers: [["Host", second]] });
    const answer = await exchangeRaw(daemon().port, bytes);
    expect([400, 403]).toContain(answer?.status ?? 0);
  }
});

test("a request without a Host is refused, in HTTP/1.1 and in HTTP/1.0", async () => {
  for (const [method, path] of ENDPOINTS) {
    const modern = await exchangeRaw(daemon().port, requestBytes({ method, path, host: null }));
    expect([400, 403]).toContain(modern?.status ?? 0);
    const old = await exchangeRaw(daemon().port, `${method} ${path} HTTP/1.0\r\n\r\n`);
    expect([400, 403, 505]).toContain(old?.status ?? 0);
  }
});

test("the loopback names are answered, with and without a port, in either case", async () => {
  const { port } = daemon();
  for (const name of ["127.0.0.1", "localhost", "LocalHost", "[::1]"]) {
    for (const host of [name, `${name}:${port}`, `${name}:1`, `${name}:`]) {
      const answer = await exchangeRaw(port, requestBytes({ path: "/health", host }));
      expect([host, answer?.status, answer?.body]).toEqual([host, 200, "{}"]);
      if (answer) expectNoCors(answer);
    }
  }
  const typed = requestBytes({ path: "/health", headers: [["Sec-Fetch-Site", "none"]] });
  expect((await exchangeRaw(port, typed))?.status).toBe(200);
});

test("the caller is refused before it has sent its body", async () => {
  for (const path of ["/spawn", "/register", "/deregister", "/health", "/nowhere"]) {
    for (const framing of [
      ["Content-Length", "20"],
      ["Content-Length", "10000000"],
      ["Transfer-Encoding", "chunked"],
    ] as const) {
      const headers = [["Origin", "https://evil.example"], framing] as const;
      const connection = await connectRaw(daemon().port);
      connection.send(requestBytes({ method: "POST", path, headers }));
      expectForeign(await connection.answer(), /Origin/);
      connection.close();
    }
  }
});

test("a request that a web page can send without a preflight changes nothing", async () => {
  const body = JSON.stringify({ session_id: "ses_from_a_page", name: "local/parent", version: VERSION });
  const headers = [
    ["Content-Type", "text/plain"],
    ["Origin", "https://evil.example"],
  ] as const;
  const bytes = requestBytes({ method: "POST", path: "/register", headers, body });
  expectForeign(await exchangeRaw(daemon().port, bytes), /Origin/);
  expect((await daemon().caller.status("ses_from_a_page")).status).toBe(404);
});

test("a preflight is not allowed anything", async () => {
  const headers = [
    ["Origin", "https://evil.example"],
    ["Access-Control-Request-Method", "POST"],
    ["Access-Control-Request-Headers", "x-murmur-spawn-credential"],
    ["Access-Control-Request-Private-Network", "true"],
  ] as const;
  for (const path of ["/spawn", "/register", "/nowhere", "*"]) {
    const answer = await exchangeRaw(daemon().port, requestBytes({ method: "OPTIONS", path, headers }));
    expect([403, 400]).toContain(answer?.status ?? 0);
    if (answer) expectNoCors(answer);
  }
});

test("no connection is upgraded to another protocol", async () => {
  const headers = [
    ["Connection", "Upgrade"],
    ["Upgrade", "websocket"],
    ["Sec-WebSocket-Version", "13"],
    ["Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="],
  ] as const;
  const answer = await exchangeRaw(daemon().port, requestBytes({ path: "/health", headers }));
  expect(answer?.status).toBe(200);
  const connect = await exchangeRaw(daemon().port, requestBytes({ method: "CONNECT", path: "127.0.0.1:1" }));
  expect([400, 404]).toContain(connect?.status ?? 0);
});

test("a path is one of a route's only as it was sent, whatever its dot segments and backslashes lead to", async () => {
  const session = "ses_exact";
  await daemon().caller.register(session, "local/parent");
  const statusOf = async (path: string, method = "GET") =>
    (
      await exchangeRaw(
        daemon().port,
        requestBytes({ method, path, ...(method === "POST" && { body: "{}" }) }),
      )
    )?.status;
  expect(await statusOf("/health")).toBe(200);
  expect(await statusOf("/health?x=/../y")).toBe(200);
  expect(await statusOf(`/status/${session}`)).toBe(200);
  expect(await statusOf(`/status/${session}?x`)).toBe(200);
  expect(await statusOf("/spawn", "POST")).toBe(400);
  for (const path of [
    "/x/../health",
    "/./health",
    "/%2e/health",
    "/x/%2E%2e/health",
    "/x\\..\\health",
    "/health/../health",
    "/health/x/..",
    "/status/../health",
    `/status/x/../${session}`,
    `/x/../status/${session}`,
    `/status/./${session}`,
    `/status/x\\..\\${session}`,
    `/status\\${session}`,
    "/status/x\\..\\..\\health",
    "/status/%2e%2e",
    "/status/..",
    "/status/.",
    "/status/%",
    "/status/%ff",
    `/status/%73${session.slice(1)}`,
  ]) {
    expect([path, await statusOf(path)]).toEqual([path, 404]);
  }
  for (const path of ["/x/../spawn", "/./register", "/x\\..\\deregister"])
    expect([path, await statusOf(path, "POST")]).toEqual([path, 404]);
});

test("an HTTP method that the API lacks is not found, and an unknown method ends the connection", async () => {
  for (const method of ["PURGE", "PROPFIND", "QUERY", "TRACE"]) {
    const answer = await exchangeRaw(daemon().port, requestBytes({ method, path: "/health" }));
    expect([method, answer?.status, answer?.body]).toEqual([method, 404, '{"error":"not found"}']);
  }
  for (const method of ["get", "Get", "FOO", "BREW"]) {
    const answer = await exchangeRaw(daemon().port, requestBytes({ method, path: "/health" }));
    expect([method, answer]).toEqual([method, undefined]);
  }
});
