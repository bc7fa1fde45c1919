import { afterEach, expect, test } from "bun:test";
import { deliverTask } from "../../../src/runtime/delegation/delivery.ts";
import { parseDoorUrl, Secret } from "../../../src/runtime/index.ts";
import { manualClock } from "../../kit/manual-clock.ts";
import { type RawServer, rawServer, reply } from "../../kit/raw-server.ts";

const servers: RawServer[] = [];
afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.close()));
});

/** A door that gives these answers in turn, the last one again and again; and a delivery to it, the clock moving. */
async function deliver(...answers: Parameters<typeof rawServer>[0][]) {
  let asked = 0;
  const server = await rawServer((socket) => answers[Math.min(asked++, answers.length - 1)]?.(socket));
  servers.push(server);
  const door = parseDoorUrl(server.url);
  if (!door) throw new Error("no door");
  const clock = manualClock();
  const cancel = new AbortController();
  let result: Awaited<ReturnType<typeof deliverTask>> | undefined;
  const delivery = {
    door,
    token: new Secret("operator"),
    delegationId: "dlg_1",
    task: "a task",
    signal: cancel.signal,
  };
  void deliverTask(delivery, clock).then((end) => {
    result = end;
  });
  for (let turns = 0; !result && turns < 3_000; turns++) {
    await clock.advance(50);
    await Bun.sleep(1);
  }
  return { result, asked, received: server.received() };
}

const accepted = reply(
  200,
  JSON.stringify({ result: { task: { id: "tsk_1", status: { state: "TASK_STATE_WORKING" } } } }),
);

test("goes over the wire as one message with its id and the operator token, until it is accepted", async () => {
  const { result, asked, received } = await deliver(
    (socket) => socket.destroy(),
    reply(503, "not yet"),
    accepted,
  );
  expect(result).toEqual({ ok: true, value: "tsk_1" });
  expect(asked).toBe(3);
  expect(received.match(/authorization: Bearer operator/gi)?.length).toBe(3);
  expect(received.match(/a2a-version: 1\.0/gi)?.length).toBe(3);
  expect(received).toContain(
    '{"jsonrpc":"2.0","id":"dlg_1","method":"SendMessage","params":{"message":{"messageId":"msg_dlg_1","role":"ROLE_USER","parts":[{"text":"a task"}]}}}',
  );
});

test.each<[string, object]>([
  ["it rejected the task", { result: { task: { id: "tsk_1", status: { state: "TASK_STATE_REJECTED" } } } }],
  ["its answer holds no task", { result: { message: {} } }],
  ["it answered with the error -32004, no room", { error: { code: -32004, message: "no room" } }],
])("%s: not tried again", async (fault, answer) => {
  const { result, asked } = await deliver(reply(200, JSON.stringify(answer)));
  expect(result).toEqual({ ok: false, fault });
  expect(asked).toBe(1);
});

test("is given up after 30 s of its first try", async () => {
  const { result, asked } = await deliver(reply(500, "never"));
  expect(result).toEqual({ ok: false, fault: "it answered with status 500, for 30 s" });
  expect(asked).toBeGreaterThan(10);
}, 20_000);
