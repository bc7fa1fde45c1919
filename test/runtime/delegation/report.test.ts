/** A report: its record, its post, and the record updated with the result of the post. */

import { describe, expect, test } from "bun:test";
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type Post, type Report, reportCompletion } from "../../../src/runtime/delegation/completion.ts";
import { postToDoor } from "../../../src/runtime/delegation/own-end.ts";
import { parseDoorUrl } from "../../../src/runtime/index.ts";
import { close } from "../../../src/sys/descriptors.ts";
import { manualClock } from "../../kit/manual-clock.ts";
import { type RawAnswering, rawServers, reply } from "../../kit/raw-server.ts";
import { hold, identity, scratch } from "./kit.ts";

const serve = rawServers();

const OK: Report = { status: "ok", durationMs: 4210, reportedBy: "child" };

/** Reports to a records directory of its own; what stands there while the post is made, and afterwards. */
async function reported(report: Report, post?: Post, path = scratch()) {
  const records = hold(path);
  const diagnosed: string[] = [];
  const read = () => JSON.parse(readFileSync(join(path, "completion.json"), "utf8"));
  let meanwhile: Record<string, unknown> | undefined;
  const { delivery } = await reportCompletion({
    identity: identity(),
    report,
    records,
    post:
      post &&
      (async (...asked) => {
        if (!diagnosed.length) meanwhile = read();
        return post(...asked);
      }),
    diagnose: (line) => diagnosed.push(line),
  });
  close(records);
  return { delivery, diagnosed, meanwhile, record: diagnosed.length === 0 || meanwhile ? read() : undefined };
}

/** A child's post to a door that answers so. */
async function posted(answer: RawAnswering, report = OK) {
  const server = await serve(answer);
  const url = parseDoorUrl(server.url);
  const post =
    url &&
    postToDoor({ url, sessionId: "ses_0192", contextId: "ctx_1", delegationId: "dlg_0193" }, manualClock());
  return { ...(await reported(report, post)), received: server.received() };
}

const received = reply(200, '{"jsonrpc":"2.0","id":"dlg_0193","result":{}}');

describe("a child's post", () => {
  test("is one message with four headers, its text without the answer", async () => {
    const { received: sent, record } = await posted(received, { ...OK, resultPath: "/r/out/result.txt" });
    const [head = "", body = ""] = sent.split("\r\n\r\n");
    const headers = head.toLowerCase().split("\r\n");
    expect(headers[0]).toBe("post / http/1.1");
    for (const header of [
      "a2a-version: 1.0",
      "x-murmur-task-origin: completion",
      "x-murmur-delegation-id: dlg_0193",
      "x-murmur-completion-session: ses_0192",
    ]) {
      expect(headers).toContain(header);
    }
    const { workdir } = identity();
    expect(JSON.parse(body)).toMatchObject({
      jsonrpc: "2.0",
      method: "SendMessage",
      params: {
        message: {
          role: "ROLE_USER",
          parts: [
            {
              text: `Delegated capsule finished.\ndelegation_id: dlg_0193\ncapsule: worker@0.1.0\nsession_id: ses_0193\nstatus: ok\nduration_ms: 4210\nworkdir: ${workdir.path}\nresult_path: /r/out/result.txt`,
            },
          ],
        },
      },
    });
    expect(record).toMatchObject({ delivered: true });
  });

  test("has no line for a missing result", async () => {
    expect((await posted(received)).received).not.toContain("result_path");
  });

  test.each<[string, string]>([
    ["whatever its result looks like", '{"jsonrpc":"2.0","id":1,"result":["anything"]}'],
    ["that is no JSON-RPC", "thank you"],
    ["that is empty", ""],
  ])("is delivered by an answer %s", async (_, body) => {
    const { record, diagnosed } = await posted(reply(200, body));
    expect(record).toMatchObject({ delivered: true });
    expect(record).not.toHaveProperty("delivery_error");
    expect(diagnosed).toEqual([]);
  });

  const error = (message: string) =>
    JSON.stringify({ jsonrpc: "2.0", id: 1, error: { code: -31002, message } });
  test.each<[string, RawAnswering, string]>([
    ["an error answer", reply(200, error("nobody waits")), "nobody waits"],
    ["an error answer with a status of its own", reply(403, error("nobody waits")), "nobody waits"],
    ["what stands before the door", reply(401, "no token"), "it answered with status 401"],
    ["a redirect, which is not followed", reply(307, "", { location: "http://127.0.0.1:1/" }), "status 307"],
    ["a connection that is closed", (socket) => socket.destroy(), ""],
  ])("is refused by %s, which the record and one line say", async (_, answer, why) => {
    const { record, diagnosed, delivery } = await posted(answer);
    expect(record).toMatchObject({
      status: "ok",
      delivered: false,
      delivery_error: expect.stringContaining(why),
    });
    expect(diagnosed).toEqual([
      `the completion of delegation dlg_0193 was not delivered: ${delivery.deliveryError}`,
    ]);
  });

  test("is made once, and not at all if there is no url", async () => {
    const { received: sent } = await posted(reply(503, ""));
    expect(sent.match(/POST/g)).toHaveLength(1);
    const handle = { sessionId: "ses_0192", contextId: "ctx_1", delegationId: "dlg_0193" };
    expect(postToDoor(handle, manualClock())).toBeUndefined();
  });
});

describe("a record", () => {
  test("says during the post that the outcome of the post is unknown", async () => {
    const { meanwhile, record } = await posted(received);
    expect(meanwhile).toMatchObject({ status: "ok", reported_by: "child", delivered: false });
    expect(meanwhile).not.toHaveProperty("delivery_error");
    expect(record).toEqual({ ...meanwhile, delivered: true });
  });

  test("still says so if there is nobody to post to", async () => {
    const { record, diagnosed } = await reported(OK);
    expect(record).toMatchObject({ delivered: false });
    expect(record).not.toHaveProperty("delivery_error");
    expect(diagnosed).toEqual([]);
  });

  test("keeps nothing of an earlier failure, neither during the post nor after its delivery", async () => {
    const earlier = { ...OK, delivered: false, deliveryError: "connect ECONNREFUSED" };
    const { meanwhile, record } = await reported(earlier, async () => ({ delivered: true }));
    expect(meanwhile).not.toHaveProperty("delivery_error");
    expect(record).not.toHaveProperty("delivery_error");
  });

  test("that cannot be written causes one line, and the post is made anyway", async () => {
    const path = scratch();
    mkdirSync(join(path, "completion.json"));
    let made = 0;
    const { diagnosed, delivery } = await reported(
      OK,
      async () => {
        made++;
        return { delivered: true };
      },
      path,
    );
    expect(diagnosed).toEqual([
      "completion.json of delegation dlg_0193 could not be written: Is a directory (os error 21)",
    ]);
    expect([made, delivery]).toEqual([1, { delivered: true }]);
  });

  test("has a detail of at most 2000 bytes, marked where it was cut, and cut once", async () => {
    const { record } = await reported({ ...OK, detail: "é".repeat(1001) });
    expect(record.detail).toBe(`${"é".repeat(1000)} […]`);
    expect((await reported({ ...OK, detail: record.detail })).record.detail).toBe(record.detail);
  });
});

test("a detail of any length is delivered, cut as in the record", async () => {
  const { record, received: sent } = await posted(received, {
    ...OK,
    status: "error",
    detail: "\u0001".repeat(1_000_000),
  });
  const cut = `${"\u0001".repeat(2_000)} […]`;
  expect(record).toMatchObject({ detail: cut, delivered: true });
  // What a door reads of a request, in bytes.
  expect(Buffer.byteLength(sent)).toBeLessThan(64 * 1024);
  expect(sent).toContain(JSON.stringify(cut).slice(1, -9));
});

test("an error of any length leaves a record that can be read", async () => {
  const message = "x".repeat(500_000);
  const { record } = await posted(reply(200, JSON.stringify({ error: { code: 1, message } })));
  expect(record.delivery_error).toBe(`${"x".repeat(2_000)} […]`);
});
