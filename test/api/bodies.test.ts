import { describe, expect, spyOn, test } from "bun:test";
import { BODY_DEADLINE_SECONDS, MAX_BODY_BYTES } from "../../src/json-body.ts";
import { IDENTITY_REFUSAL } from "../kit/host.ts";
import { connectRaw, exchangeRaw, requestBytes } from "../kit/raw-http.ts";
import { until } from "../kit/until.ts";
import { sharedServed } from "./served.ts";

const daemon = sharedServed();

const post = (path: string, body: string, ...headers: (readonly [string, string])[]) =>
  exchangeRaw(daemon().port, requestBytes({ method: "POST", path, body, headers }));
const head = (...headers: (readonly [string, string])[]) =>
  requestBytes({ method: "POST", path: "/deregister", headers });
const CHUNKED = head(["Transfer-Encoding", "chunked"]);
const error = (answer: { readonly body: string } | undefined) => JSON.parse(answer?.body ?? "{}").error;

const SESSION_ID = "'session_id' must be 1 to 256 characters of A-Z, a-z, 0-9, _ . : and -, and not . or ..";
const NAME =
  "'name' must be a capsule full name, <scope>/<name>, each part 1 to 100 characters of a-z, 0-9 and -";
const VERSION =
  "'version' must be 1 to 128 characters without slashes or control characters, and not . or ..";

describe("a body", () => {
  test.each([
    ["", "invalid JSON: the body is empty, and must be a JSON object"],
    [" ", "invalid JSON: the body cannot be parsed"],
    ["{", "invalid JSON: the body cannot be parsed"],
    ["{}x", "invalid JSON: the body cannot be parsed"],
    ["\u00ff", "invalid JSON: the body is not valid UTF-8"],
    ['{"name":"\u00c3"}', "invalid JSON: the body is not valid UTF-8"],
    ["\u00ef\u00bb\u00bf{}", "invalid JSON: the body cannot be parsed"],
    ["[]", "the body must be a JSON object"],
    ["null", "the body must be a JSON object"],
    ['"x"', "the body must be a JSON object"],
    ["{}", "'session_id' is required"],
    ['{"session_id":null}', "'session_id' must be a string"],
    ['{"session_id":""}', "session_id must not be empty"],
    ['{"session_id":"a b"}', SESSION_ID],
    ['{"session_id":".."}', SESSION_ID],
    [`{"session_id":"${"x".repeat(257)}"}`, SESSION_ID],
    ['{"session_id":"..."}', "'name' is required"],
    ['{"session_id":"a","name":1}', "'name' must be a string"],
    ['{"session_id":"a","name":"root"}', NAME],
    ['{"session_id":"a","name":"local/root"}', "'version' is required"],
    ['{"session_id":"a","name":"local/root","version":[]}', "'version' must be a string"],
    ['{"session_id":"a","name":"local/root","version":"1/2"}', VERSION],
  ])("%j is refused", async (body, message) => {
    const answer = await post("/register", body);
    expect([answer?.status, error(answer)]).toEqual([400, message]);
    expect(daemon().logged.at(-1)).toEqual({
      event: "request",
      refused: "bad-body",
      method: "POST",
      path: "/register",
      host: undefined,
      origin: undefined,
      detail: message,
    });
  });

  test("must hold what its route needs, and its other keys are ignored", async () => {
    expect(error(await post("/spawn", "{}"))).toBe("'name' is required");
    expect(error(await post("/deregister", "{}"))).toBe("'outcome' is required");
    expect(error(await post("/deregister", '{"outcome":"done"}'))).toBe(
      "outcome 'done' is not 'complete' or 'failed'",
    );
    expect(daemon().logged.at(-1)).toMatchObject({ refused: "bad-outcome", detail: undefined });
    const body = '{"x":1,"session_id":"ses_more","name":"local/root","version":"0.1.0","outcome":7}';
    expect((await post("/register", body, ["Content-Type", "text/plain"]))?.status).toBe(200);
  });

  test("is parsed before any token is checked, and `failed` is an outcome", async () => {
    for (const outcome of ["complete", "failed"]) {
      const answer = await post("/deregister", JSON.stringify({ outcome }));
      expect([answer?.status, error(answer)]).toEqual([403, IDENTITY_REFUSAL]);
    }
  });
});

/** A body of that many bytes that is understood. */
const bodyOf = (bytes: number) => '{"outcome":"complete"}'.padEnd(bytes);
/** The same in two chunks. */
const chunksOf = (bytes: number) => {
  const body = bodyOf(bytes);
  const chunk = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`;
  return `${CHUNKED}${chunk(body.slice(0, 1000))}${chunk(body.slice(1000))}0\r\n\r\n`;
};
const TOO_LARGE = { status: 413, body: '{"error":"the body is larger than 65536 bytes"}' };

describe("a body's size", () => {
  test("is 64 KiB at most, and a body of that size is read whole", async () => {
    expect(MAX_BODY_BYTES).toBe(65_536);
    expect((await post("/deregister", bodyOf(65_536)))?.status).toBe(403);
    expect((await exchangeRaw(daemon().port, chunksOf(65_536)))?.status).toBe(403);
  });

  test("is refused above the limit, and the rest of the body is never read as a request", async () => {
    for (const bytes of [head(["Content-Length", "65537"]) + bodyOf(65_537), chunksOf(65_537)]) {
      const connection = await connectRaw(daemon().port);
      connection.send(bytes + requestBytes({ path: "/health" }));
      const answer = await connection.answer();
      expect(answer).toMatchObject(TOO_LARGE);
      expect(answer?.headers.get("connection")).toBe("close");
      expect(await connection.answer()).toBeUndefined();
      connection.close();
      expect(daemon().logged.at(-1)).toMatchObject({ event: "request", refused: "body-too-large" });
    }
  });

  test("is refused before the body has arrived, and the answer waits while more of it arrives", async () => {
    const refused = async (bytes: string) => {
      const connection = await connectRaw(daemon().port);
      try {
        connection.send(bytes);
        const answer = await connection.answer();
        // All of it was received: no client was cut off while sending.
        return connection.unsent() === 0 ? answer : undefined;
      } finally {
        connection.close();
      }
    };
    const chunk = `${(1024 * 1024).toString(16)}\r\n${" ".repeat(1024 * 1024)}\r\n`;
    for (const bytes of [
      head(["Content-Length", String(8 * 1024 * 1024)]) + "\0".repeat(8 * 1024 * 1024),
      `${CHUNKED}${chunk.repeat(8)}0\r\n\r\n`,
    ]) {
      let answer: Awaited<ReturnType<typeof refused>>;
      // Again if a busy machine stopped this client for so long that it was given up.
      await until("all of it is received", async () => {
        answer = await refused(bytes);
        return answer !== undefined;
      });
      expect(answer).toMatchObject(TOO_LARGE);
    }
    const silent = await connectRaw(daemon().port);
    silent.send(head(["Content-Length", "65537"]));
    expect(await silent.answer()).toMatchObject(TOO_LARGE);
    silent.close();
  });
});

/** The deadlines of bodies, which pass only when the test says so. Other timers run as ever. */
function heldDeadlines() {
  const begun: { readonly timer: Timer; readonly pass: () => void }[] = [];
  const real = setTimeout;
  const setting = spyOn(globalThis, "setTimeout").mockImplementation(((run: () => void, ms?: number) => {
    if (ms !== 10_000) return real(run, ms);
    const timer = real(() => {}, 2 ** 31 - 1).unref();
    begun.push({ timer, pass: run });
    return timer;
  }) as typeof setTimeout);
  const clearing = spyOn(globalThis, "clearTimeout");
  return {
    begun: () => begun.length,
    pass: (index: number) => begun[index]?.pass(),
    areCleared: () => begun.every(({ timer }) => clearing.mock.calls.some(([cleared]) => cleared === timer)),
    [Symbol.dispose]() {
      setting.mockRestore();
      clearing.mockRestore();
      for (const { timer } of begun) clearTimeout(timer);
    },
  };
}

describe("a body's time", () => {
  test("is limited to ten seconds in total, and a client within the limit stays connected", async () => {
    expect(BODY_DEADLINE_SECONDS).toBe(10);
    using deadlines = heldDeadlines();
    await using open = new AsyncDisposableStack();
    const begin = async (bytes: string) => {
      const connection = open.adopt(await connectRaw(daemon().port), (raw) => raw.close());
      const before = deadlines.begun();
      connection.send(bytes);
      await until("the body has begun", () => deadlines.begun() === before + 1);
      return connection;
    };
    const first = await begin(`${head(["Content-Length", "22"])}{`);
    const chunked = await begin(`${CHUNKED}1\r\n{\r\n`);
    const late = await begin(`${head(["Content-Length", "22"])}{`);
    chunked.send("1\r\n \r\n");
    const slow = { status: 408, body: '{"error":"the body did not arrive within 10 seconds"}' };
    deadlines.pass(0);
    const answer = await first.answer();
    expect(answer).toMatchObject(slow);
    expect(answer?.headers.get("connection")).toBe("close");
    expect(daemon().logged.at(-1)).toMatchObject({ event: "request", refused: "body-too-slow" });
    deadlines.pass(1);
    expect(await chunked.answer()).toMatchObject(slow);
    expect(late.rest()).toBe("");
    late.send('"outcome":"complete"}');
    expect((await late.answer())?.status).toBe(403);
    // No byte that came later has begun another.
    expect(deadlines.begun()).toBe(3);
  });

  test("is no longer measured once the body is there, is refused or will never come", async () => {
    using deadlines = heldDeadlines();
    expect((await post("/deregister", bodyOf(100)))?.status).toBe(403);
    expect((await exchangeRaw(daemon().port, chunksOf(100_000)))?.status).toBe(413);
    for (const begun of [`${head(["Content-Length", "22"])}{`, `${CHUNKED}1\r\n{\r\n`]) {
      const connection = await connectRaw(daemon().port);
      const before = deadlines.begun();
      connection.send(begun);
      await until("the body has begun", () => deadlines.begun() === before + 1);
      connection.close();
      await until("the client has left", deadlines.areCleared);
    }
    expect([deadlines.begun(), deadlines.areCleared()]).toEqual([4, true]);
  });

  test("ends when its client leaves: no answer is sent, and the log says so", async () => {
    const connection = await connectRaw(daemon().port);
    const logged = daemon().logged.length;
    const before = daemon().requests();
    connection.send(`${head(["Content-Length", "22"])}{`);
    await until("the body has begun", () => daemon().requests() > before);
    connection.close();
    await until("it is logged", () => daemon().logged.length > logged);
    expect(daemon().logged.at(-1)).toMatchObject({ event: "request", refused: "body-ended-early" });
  });
});
