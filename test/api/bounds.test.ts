import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createHost, type Host, spawns } from "../kit/host.ts";
import { inProcess } from "../kit/in-process.ts";

let host: Host;

beforeAll(async () => {
  host = createHost();
  await host.publish("local/self", spawns("local/self"));
  await host.publish(
    "local/wide",
    "capabilities:\n  network: {allow: [a.example]}\n  shell: {allow: [git, bash]}\n",
  );
  await host.publish("local/narrow", spawns("local/wide", "local/missing"));
});
afterAll(() => host[Symbol.asyncDispose]());

const start = (limits: Parameters<typeof inProcess>[1] & {} = {}) =>
  inProcess(host.registry, { spawnAllow: ["local/self", "local/narrow"], ...limits });

describe("the depth budget", () => {
  test("ends a capsule that starts itself: with 3 levels, the fourth spawn is refused", async () => {
    const { caller } = start();
    let credential = await caller.credential("ses_0", "local/self");
    for (const level of [1, 2, 3]) {
      const approval = await caller.approval(credential, "local/self");
      credential = await caller.credential(`ses_${level}`, "local/self", approval);
      expect((await caller.status(`ses_${level}`)).json.depth_remaining).toBe(3 - level);
    }
    const refused = await caller.spawn(credential, "local/self");
    expect([refused.status, refused.json.error]).toEqual([
      403,
      "delegation depth bound reached: this daemon allows 3 levels of delegation below a top-level capsule (--max-depth 3), and this session has none left to spend — a capsule whose capabilities.spawn.allow names itself terminates here rather than recursing",
    ]);
  });

  test("is checked before the other two bounds, and before the registry is read", async () => {
    const { caller } = start({ limits: { maxDepth: 0, maxLiveCapsules: 0, maxConcurrent: 0 } });
    const credential = await caller.credential("ses_0", "local/narrow");
    expect((await caller.spawn(credential, "local/missing")).json.error).toStartWith(
      "delegation depth bound reached",
    );
    expect((await caller.spawn(credential, "local/self")).json.error).toBe(
      "capsule 'local/self' is not in parent's spawn_allow",
    );
  });
});

test("the machine ceiling counts every formation, is checked second, and never refuses a root", async () => {
  const { caller } = start({ limits: { maxLiveCapsules: 3, maxConcurrent: 2 } });
  const one = await caller.credential("ses_1", "local/self");
  const other = await caller.credential("ses_2", "local/self");
  await caller.approval(one, "local/self");
  const refused = await caller.spawn(other, "local/self");
  expect([refused.status, refused.json.error]).toEqual([
    403,
    "machine capsule ceiling reached: this daemon allows 3 live capsules on this host across every formation (--max-live-capsules 3), and it is already holding 3 — this is the host's ceiling rather than this capsule's own --max-concurrent, so narrowing the formation does not help; the same request may be granted once other capsules finish",
  ]);
  await caller.credential("ses_3", "local/self");
  expect((await caller.status("ses_3")).json.live_capsules).toBe(4);
  expect((await caller.spawn(other, "local/self")).json.error).toContain("already holding 4");
});

test("the concurrency cap counts reservations and running children, and frees them one by one", async () => {
  const { caller } = start({ limits: { maxConcurrent: 2 } });
  const root = await caller.credential("ses_root", "local/self");
  const child = await caller.credential("ses_child", "local/self", await caller.approval(root, "local/self"));
  await caller.approval(root, "local/self");
  const refused = await caller.spawn(root, "local/self");
  expect([refused.status, refused.json.error]).toEqual([
    403,
    "delegation concurrency bound reached: this daemon allows a capsule 2 live children at a time (--max-concurrent 2), and this session already holds 2 — wait for one to finish, or raise --max-concurrent",
  ]);
  await caller.deregister(child, "failed");
  expect((await caller.status("ses_child")).text).toBe(
    '{"status":"failed","depth_remaining":2,"live_children":0,"live_capsules":2}',
  );
  expect((await caller.spawn(root, "local/self")).status).toBe(200);
});

test("a finished session's figures still count its running children", async () => {
  const { caller } = start();
  const root = await caller.credential("ses_root", "local/self");
  await caller.credential("ses_child", "local/self", await caller.approval(root, "local/self"));
  await caller.deregister(root);
  expect((await caller.status("ses_root")).json).toEqual({
    status: "complete",
    depth_remaining: 3,
    live_children: 1,
    live_capsules: 1,
  });
});

test("a hundred formations leave no slot taken", async () => {
  const { caller } = start({ limits: { maxLiveCapsules: 2 } });
  for (let round = 0; round < 100; round++) {
    const root = await caller.credential(`ses_r${round}`, "local/self");
    const child = await caller.credential(
      `ses_c${round}`,
      "local/self",
      await caller.approval(root, "local/self"),
    );
    await caller.deregister(child);
    await caller.deregister(root);
  }
  expect((await caller.status("ses_r0")).json.live_capsules).toBe(0);
});

test("the log names every exceeded axis, and the answer names only the first", async () => {
  const { caller, logged } = start();
  const root = await caller.credential("ses_root", "local/narrow");
  expect((await caller.spawn(root, "local/wide")).json.error).toStartWith("capabilities.network.allow: ");
  expect(logged.at(-1)).toMatchObject({
    event: "spawn",
    refused: "envelope",
    session: "ses_root",
    capsule: "local/wide@0.1.0",
    depth: 3,
    used: 1,
    free: 15,
    detail: "capabilities.network.allow: 'a.example'",
    also: "shell.allow",
  });
});
