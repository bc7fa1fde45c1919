/** The checks before a request's route: who may ask, which paths and methods exist, and the last answer. */

import { beforeAll, describe, expect, test } from "bun:test";
import { connectRaw, exchangeRaw, requestBytes } from "../kit/raw-http.ts";
import { sharedServed } from "./served.ts";

const daemon = sharedServed();
beforeAll(() => daemon().caller.credential("ses_root", "local/root"));

type Headers = readonly (readonly [string, string])[];
const health = (headers: Headers, host: string | null = "127.0.0.1") =>
  exchangeRaw(daemon().port, requestBytes({ path: "/health", host, headers }));

describe("a caller", () => {
  test.each(["127.0.0.1", "localhost", "LOCALHOST", "[::1]", "127.0.0.1:7700", "[::1]:65535", "localhost:"])(
    "that asks for %s is answered",
    async (name) => {
      expect(await health([], name)).toMatchObject({ status: 200, body: "{}" });
    },
  );

  test.each(["[::2]", "127.0.0.2", "localhost.", "example.com", "[::1]:65536", "127.0.0.1:x", "::1"])(
    "that asks for %s is refused, and the log names the host that it asked for",
    async (name) => {
      const answer = await health([], name);
      expect(answer).toMatchObject({ status: 403 });
      expect(JSON.parse(answer?.body ?? "")).toEqual({
        error:
          "refused before it was read: this daemon answers only requests whose Host is 127.0.0.1, localhost or [::1]",
      });
      expect(daemon().logged.at(-1)).toEqual({
        event: "request",
        refused: "foreign-caller",
        method: "GET",
        path: "/health",
        host: name,
        origin: undefined,
        detail: undefined,
      });
    },
  );

  test("that is a web page is refused, whatever it asks for", async () => {
    expect((await health([["Origin", "http://127.0.0.1"]]))?.status).toBe(403);
    expect(daemon().logged.at(-1)).toMatchObject({ host: "127.0.0.1", origin: "http://127.0.0.1" });
    expect((await health([["Sec-Fetch-Site", "same-origin"]]))?.status).toBe(403);
    expect((await health([["Sec-Fetch-Site", "none"]]))?.status).toBe(200);
  });
});

const ask = (method: string, path: string, toHead = false) =>
  (async () => {
    const connection = await connectRaw(daemon().port);
    try {
      connection.send(requestBytes({ method, path }));
      return await connection.answer({ toHead });
    } finally {
      connection.close();
    }
  })();

describe("a path", () => {
  test.each([
    ["GET", "/"],
    ["GET", "/healthy"],
    ["GET", "/health/"],
    ["GET", "/spawn"],
    ["POST", "/health"],
    ["PUT", "/spawn"],
    ["GET", "/status"],
    ["GET", "/status/"],
    ["GET", "/status/ses_root/"],
    ["GET", "/status/a%2Fb"],
    ["GET", "/status/%73es_root"],
    ["GET", `/status/${"x".repeat(257)}`],
    ["DELETE", "/status/ses_root"],
  ])("%s %s is not found, and is logged as not found", async (method, path) => {
    const answer = await ask(method, path);
    expect([answer?.status, answer?.body]).toEqual([404, '{"error":"not found"}']);
    expect(daemon().logged.at(-1)).toMatchObject({ event: "request", refused: "not-found", method });
    expect(daemon().logged.at(-1)?.host).toBeUndefined();
  });

  test("is not found by HEAD, even if GET answers it", async () => {
    expect((await ask("HEAD", "/health", true))?.status).toBe(404);
    expect(daemon().logged.at(-1)).toMatchObject({ method: "HEAD", refused: "not-found" });
  });

  test("of a session answers with its figures, and of an unknown session with an error", async () => {
    expect(await ask("GET", "/status/ses_root")).toMatchObject({
      status: 200,
      body: '{"status":"running","depth_remaining":3,"live_children":0,"live_capsules":1}',
    });
    const logged = daemon().logged.length;
    expect(await ask("GET", "/status/ses_other")).toMatchObject({
      status: 404,
      body: '{"error":"session not found"}',
    });
    expect(daemon().logged.length).toBe(logged);
  });
});

describe("a connection", () => {
  const twice = async (first: string) => {
    const connection = await connectRaw(daemon().port);
    try {
      connection.send(first);
      const answer = await connection.answer();
      connection.send(requestBytes({ path: "/health" }));
      return [answer?.status, answer?.headers.get("connection"), (await connection.answer())?.status];
    } finally {
      connection.close();
    }
  };

  test("stays open after an answer, even a refusal without a body", async () => {
    expect(await twice(requestBytes({ path: "/health" }))).toEqual([200, undefined, 200]);
    expect(await twice(requestBytes({ path: "/other" }))).toEqual([404, undefined, 200]);
    expect(await twice(requestBytes({ path: "/health", headers: [["Content-Length", "0"]] }))).toEqual([
      200,
      undefined,
      200,
    ]);
    expect(await twice(requestBytes({ method: "POST", path: "/spawn", body: "{}" }))).toEqual([
      400,
      undefined,
      200,
    ]);
  });

  test("ends with an answer if requests are sent ahead, even with a body", async () => {
    for (const ahead of [
      requestBytes({ path: "/health" }),
      requestBytes({ method: "POST", path: "/deregister", body: "{}" }),
    ]) {
      const connection = await connectRaw(daemon().port);
      connection.send(ahead.repeat(100));
      let last: string | undefined;
      let answers = 0;
      for (let answer = await connection.answer(); answer; answer = await connection.answer()) {
        expect(last).toBeUndefined();
        last = answer.headers.get("connection");
        answers++;
      }
      connection.close();
      expect([last, answers < 100]).toEqual(["close", true]);
    }
  });

  test("ends with the answer if a body was not read", async () => {
    expect(await twice(requestBytes({ path: "/health", body: "x" }))).toEqual([200, "close", undefined]);
    expect(await twice(requestBytes({ path: "/status/a", body: "x" }))).toEqual([404, "close", undefined]);
    const chunked = requestBytes({ path: "/health", headers: [["Transfer-Encoding", "chunked"]] });
    expect(await twice(`${chunked}1\r\nx\r\n0\r\n\r\n`)).toEqual([200, "close", undefined]);
    expect(await twice(requestBytes({ method: "POST", path: "/other", body: "x" }))).toEqual([
      404,
      "close",
      undefined,
    ]);
  });
});
