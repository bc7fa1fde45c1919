/** What can change while a request waits: its caller leaves or ends, or others take the slot. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createHost, type Host, IDENTITY_REFUSAL } from "../kit/host.ts";
import { type InProcess, inProcess } from "../kit/in-process.ts";
import { settled } from "../kit/publish.ts";
import { until } from "../kit/until.ts";

let host: Host;

/** Enough that two of them are not compared within one turn. */
const NAMES = Array.from({ length: 28_000 }, (_, index) => `b${index}`).join(", ");
const MANIFEST = `capabilities:\n  spawn: {allow: [local/child]}\n  shell: {allow: [${NAMES}]}\n`;

beforeAll(async () => {
  host = createHost();
  for (const name of ["local/one", "local/other", "local/child"]) await host.publish(name, MANIFEST);
  await settled(host.registry);
});
afterAll(() => host[Symbol.asyncDispose]());

/** A daemon that has read its artifacts, but has not yet compared `local/one` with its child. */
async function warm(limits: { maxConcurrent?: number } = {}): Promise<InProcess & { credential: string }> {
  const daemon = inProcess(host.registry, { spawnAllow: ["local/one", "local/other"], limits });
  const { caller } = daemon;
  const other = await caller.credential("ses_other", "local/other");
  expect((await caller.spawn(other, "local/child")).status).toBe(200);
  await caller.deregister(other);
  return { ...daemon, credential: await caller.credential("ses_one", "local/one") };
}

describe("while two envelopes are compared", () => {
  test("a session may end, and is then granted nothing", async () => {
    const { caller, credential } = await warm();
    const [asked, retired] = await Promise.all([
      caller.spawn(credential, "local/child"),
      caller.deregister(credential),
    ]);
    expect([asked.json.error, retired.status]).toEqual([IDENTITY_REFUSAL, 200]);
    expect((await caller.status("ses_one")).json).toMatchObject({ live_children: 0, live_capsules: 0 });
  });

  test("others may take the last slot, and it is granted only once", async () => {
    const { caller, credential } = await warm({ maxConcurrent: 1 });
    const answers = await Promise.all([1, 2, 3].map(() => caller.spawn(credential, "local/child")));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 403, 403]);
    const refused = answers.find(({ status }) => status === 403);
    expect(String(refused?.json.error)).toStartWith("delegation concurrency bound reached");
    expect((await caller.status("ses_one")).json).toMatchObject({ live_children: 1, live_capsules: 2 });
  });
});

describe("a caller that has left meanwhile", () => {
  const leaving = new AbortController();
  leaving.abort();
  const ask = ({ caller }: InProcess, path: string, body: object, headers: Record<string, string> = {}) =>
    caller.send(path, { method: "POST", headers, body: JSON.stringify(body), signal: leaving.signal });

  test("takes no slot", async () => {
    const daemon = await warm();
    const headers = { "x-murmur-spawn-credential": daemon.credential };
    await ask(daemon, "/spawn", { name: "local/child", version: "0.1.0" }, headers);
    await until("the request is let go", () => daemon.logged.at(-1)?.refused === "caller-left");
    expect((await daemon.caller.status("ses_one")).json).toMatchObject({ live_children: 0 });
  });

  test("is not registered and spends no approval, but its id is retired", async () => {
    const daemon = await warm();
    const { caller, credential, logged } = daemon;
    const approval = await caller.approval(credential, "local/child");
    const child = { session_id: "ses_child", name: "local/child", version: "0.1.0" };
    await ask(daemon, "/register", child, { "x-murmur-spawn-approval": approval });
    expect(logged.at(-1)).toMatchObject({ event: "register", refused: "caller-left" });
    expect((await caller.status("ses_child")).status).toBe(404);
    expect((await caller.register("ses_child", "local/child", approval)).status).toBe(200);
    await ask(daemon, "/register", { session_id: "ses_root", name: "local/one", version: "0.1.0" });
    expect((await caller.status("ses_root")).status).toBe(404);
    await ask(daemon, "/deregister", { outcome: "failed" }, { "x-murmur-spawn-credential": credential });
    expect((await caller.status("ses_one")).json.status).toBe("failed");
  });
});
