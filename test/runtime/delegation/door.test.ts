import { afterAll, describe, expect, test } from "bun:test";
import { Elysia } from "elysia";
import { completionPlugin, createCompletionDoor } from "../../../src/runtime/delegation/door.ts";

const door = createCompletionDoor("ses_here");
let arrived = 0;
door.await("dlg_awaited", () => arrived++);
door.await("dlg_ending", () => arrived++);
door.ending("dlg_ending");
door.await("dlg_received", () => arrived++);
door.received("dlg_received");
door.await("dlg_gone", () => arrived++);
door.forget("dlg_gone");

const app = new Elysia()
  .use(completionPlugin(door))
  .onRequest(({ request }) =>
    request.headers.get("authorization") === "Bearer right"
      ? undefined
      : new Response("no token", { status: 401 }),
  )
  .post("/", ({ body }) => ({ taken: body }))
  .listen({ hostname: "127.0.0.1", port: 0 });
afterAll(() => app.stop(true));

const url = `http://127.0.0.1:${app.server?.port}/`;
const request = { jsonrpc: "2.0", id: "r1", method: "SendMessage", params: {} };

async function post(
  headers: Record<string, string>,
  body: unknown = request,
): Promise<{ status: number; body: unknown }> {
  const response = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: typeof body === "string" ? body : JSON.stringify(body),
  });
  const text = await response.text();
  return { status: response.status, body: text.startsWith("{") ? JSON.parse(text) : text };
}

function completion(delegationId: string | undefined, session = "ses_here"): Record<string, string> {
  return {
    "A2A-Version": "1.0",
    "x-murmur-task-origin": "completion",
    "x-murmur-completion-session": session,
    ...(delegationId !== undefined && { "x-murmur-delegation-id": delegationId }),
  };
}

const info = (reason: string, metadata: object) => [
  { "@type": "type.googleapis.com/google.rpc.ErrorInfo", reason, domain: "murmur.nexus", metadata },
];

describe("a completion", () => {
  test.each([["dlg_awaited"], ["dlg_received"]])("for %s is received before any other check", async (id) => {
    expect(await post(completion(id))).toEqual({
      status: 200,
      body: { jsonrpc: "2.0", id: "r1", result: { delegation_id: id, received: true } },
    });
  });

  test("is reported each time to its own task and to no other", async () => {
    arrived = 0;
    await post(completion("dlg_awaited"));
    await post(completion("dlg_awaited"));
    for (const id of ["dlg_ending", "dlg_received", "dlg_gone"]) await post(completion(id));
    expect(arrived).toBe(2);
  });

  test("to another session is misaddressed, whatever else is wrong with it", async () => {
    const error = {
      code: -31001,
      message: "completion is addressed to session ses_before, which is not the session running here",
      data: info("COMPLETION_MISADDRESSED", { addressedSession: "ses_before" }),
    };
    expect((await post(completion("dlg_awaited", "ses_before"))).body).toEqual({
      jsonrpc: "2.0",
      id: "r1",
      error,
    });
    expect((await post(completion(undefined, "ses_before"), "not json")).body).toEqual({
      jsonrpc: "2.0",
      id: null,
      error,
    });
  });

  test("with another method is refused", async () => {
    for (const body of [{ ...request, method: "GetTask" }, {}, "not json", "x".repeat(100_000)]) {
      expect((await post(completion(undefined), body)).body).toMatchObject({ error: { code: -32601 } });
    }
  });

  test.each([
    [
      undefined,
      "completion names no delegation in x-murmur-delegation-id, so no task in this session is waiting for it",
      {},
    ],
    [
      "dlg_ending",
      "delegation dlg_ending is being ended by this session; its launcher records the outcome",
      { delegationId: "dlg_ending" },
    ],
    ["dlg_gone", "no task in this session is waiting for delegation dlg_gone", { delegationId: "dlg_gone" }],
    [
      "dlg_never",
      "no task in this session is waiting for delegation dlg_never",
      { delegationId: "dlg_never" },
    ],
  ])("for %p is not awaited", async (id, message, metadata) => {
    expect((await post(completion(id))).body).toEqual({
      jsonrpc: "2.0",
      id: "r1",
      error: { code: -31002, message, data: info("COMPLETION_NOT_AWAITED", metadata) },
    });
  });
});

describe("a request that is no completion goes on", () => {
  test("to the door's own checks, whatever delegation headers it has", async () => {
    const { "x-murmur-task-origin": _, ...others } = completion("dlg_awaited");
    expect(await post(others)).toEqual({ status: 401, body: "no token" });
    expect(await post({ ...others, authorization: "Bearer right" })).toEqual({
      status: 200,
      body: { taken: request },
    });
  });
});

test("two doors on one application do not replace each other", async () => {
  const other = createCompletionDoor("ses_there");
  const both = new Elysia().use(completionPlugin(other)).use(completionPlugin(door));
  const response = await both.handle(
    new Request(url, {
      method: "POST",
      headers: { ...completion("dlg_awaited"), host: "127.0.0.1" },
      body: JSON.stringify(request),
    }),
  );
  expect(await response.json()).toMatchObject({ error: { code: -31001 } });
});
