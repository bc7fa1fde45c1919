/** The doors that this library opens answer no web page, whatever host name it used to reach the port. */

import { afterAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { Elysia } from "elysia";
import { callDoor, userMessage } from "../../../src/runtime/delegation/a2a.ts";
import {
  completionPlugin,
  createCompletionDoor,
  type DoorUrl,
  endAll,
  type LaunchedChild,
  launch,
} from "../../../src/runtime/index.ts";
import { patientClock } from "../../kit/patient-clock.ts";
import { exchangeRaw } from "../../kit/raw-http.ts";
import { coordinates } from "../parent.ts";
import { sharedHost } from "./shared-host.ts";
import { writeChild } from "./shell-child.ts";

const host = sharedHost();

const FOREIGN: [what: string, status: number, version: string, headers: readonly string[]][] = [
  ["HTTP/1.0 without a Host", 400, "1.0", []],
  ["another Host", 403, "1.1", ["Host: evil.example"]],
  ["another Host, in HTTP/1.0", 403, "1.0", ["Host: 127.0.0.1.evil.example:80"]],
  ["an Origin", 403, "1.1", ["Host: 127.0.0.1", "Origin: null"]],
  ["another site", 403, "1.1", ["Host: localhost", "Sec-Fetch-Site: cross-site"]],
];

async function post(port: number, version: string, headers: readonly string[], body: object) {
  const text = JSON.stringify(body);
  const lines = ["Content-Type: application/json", `Content-Length: ${Buffer.byteLength(text)}`, ...headers];
  const answer = await exchangeRaw(port, `POST / HTTP/${version}\r\n${lines.join("\r\n")}\r\n\r\n${text}`);
  return { status: answer?.status, body: answer?.body ?? "" };
}

function message(text: string): object {
  return { jsonrpc: "2.0", id: 1, method: "SendMessage", params: userMessage(`msg_${text}`, text) };
}

/** A child whose door asks for no token. */
async function plainWorker(): Promise<LaunchedChild & { readonly door: DoorUrl }> {
  const program = join(import.meta.dir, "plain-worker-program.ts");
  const binary = writeChild(host().world.home, "plain", `exec '${process.execPath}' '${program}' "$@"`);
  const environment = { ...host().session.environment, MURMUR_MUR_BINARY: binary };
  const asked = { ...coordinates("local/worker"), contextId: "ctx_1" };
  const outcome = await launch({ ...host().session, environment }, asked);
  if (outcome.kind !== "launched" || !outcome.child.door) throw new Error(JSON.stringify(outcome));
  return Object.assign(outcome.child, { door: outcome.child.door });
}

test("a child's door accepts no task from a web page, even if it asks for no token", async () => {
  const child = await plainWorker();
  const port = Number(child.door.port);
  for (const [what, status, version, headers] of FOREIGN) {
    const answer = await post(port, version, headers, message("mine"));
    expect([what, answer.status]).toEqual([what, status]);
    expect(answer.body).toStartWith('{"error":"refused before it was read: this door answers only requests');
  }
  const asked = { door: child.door, id: "1", method: "SendMessage" };
  expect(await callDoor({ ...asked, params: userMessage("msg_1", "its own") }, patientClock)).toMatchObject({
    kind: "result",
    result: { task: { status: { state: "TASK_STATE_WORKING" } } },
  });
  expect(await child.exited).toEqual({ kind: "exited", status: 0 });
  await endAll([child], patientClock);
  child.release();
});

test("a child's door reads JSON whatever the content type says, and says so if it is none", async () => {
  const child = await plainWorker();
  const port = Number(child.door.port);
  const ask = async (type: string, text: string) => {
    const head = ["POST / HTTP/1.1", "Host: 127.0.0.1", `Content-Length: ${Buffer.byteLength(text)}`];
    const typed = type === "" ? head : [...head, `Content-Type: ${type}`];
    const answer = await exchangeRaw(port, `${typed.join("\r\n")}\r\n\r\n${text}`);
    return { status: answer?.status, ...JSON.parse(answer?.body ?? "{}") };
  };
  const asking = JSON.stringify({ jsonrpc: "2.0", id: 7, method: "GetTask", params: { id: "tsk_none" } });
  const types = ["", "text/plain", "application/a2a+json", "multipart/form-data; boundary=x"];
  for (const type of [...types, "application/json", "application/x-www-form-urlencoded"]) {
    expect([type, await ask(type, asking)]).toMatchObject([
      type,
      { status: 200, id: 7, error: { code: -32001 } },
    ]);
    for (const broken of ["", "{", "a=b", "[]"]) {
      const told = await ask(type, broken);
      expect([type, told]).toMatchObject([type, { status: 200, id: null, error: { code: -32700 } }]);
    }
  }
  const told = await ask("text/plain", JSON.stringify(message("its own")));
  expect(told).toMatchObject({ result: { task: { status: { state: "TASK_STATE_WORKING" } } } });
  expect(await child.exited).toEqual({ kind: "exited", status: 0 });
  await endAll([child], patientClock);
  child.release();
});

describe("the completions door", () => {
  const door = createCompletionDoor("ses_here");
  let arrived = 0;
  door.await("dlg_1", () => arrived++);
  const app = new Elysia()
    .use(completionPlugin(door))
    .post("/", () => "taken")
    .listen({ hostname: "127.0.0.1", port: 0, reusePort: false });
  afterAll(() => app.stop(true));
  const port = app.server?.port ?? 0;
  const completion = [
    "x-murmur-task-origin: completion",
    "x-murmur-completion-session: ses_here",
    "x-murmur-delegation-id: dlg_1",
  ];

  test.each(FOREIGN)("accepts none from %s", async (_, status, version, headers) => {
    const answer = await post(port, version, [...headers, ...completion], message("done"));
    expect(answer.status).toBe(status);
    expect(answer.body).toStartWith('{"error":"refused before it was read: ');
    expect(arrived).toBe(0);
  });

  test("passes every other request on to the door that contains it, in HTTP/1.0 too", async () => {
    expect(await post(port, "1.0", [], message("x"))).toEqual({ status: 200, body: "taken" });
    expect(arrived).toBe(0);
    const answer = await post(port, "1.0", ["Host: 127.0.0.1", ...completion], message("done"));
    expect([answer.status, arrived]).toEqual([200, 1]);
  });
});
