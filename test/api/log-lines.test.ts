/** What the log records about each decision, field by field. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { tokenId } from "../../src/log/fields.ts";
import { createHost, type Host, spawns } from "../kit/host.ts";
import { type InProcess, inProcess } from "../kit/in-process.ts";
import { sleeper, startTokenOf } from "../kit/records.ts";

let host: Host;

beforeAll(async () => {
  host = createHost();
  await host.publish("local/root", spawns("local/child", "local/wide", "local/missing"));
  await host.publish("local/child");
  await host.publish(
    "local/wide",
    "capabilities:\n  env: {allow: [B]}\n  shell: {allow: [git, jq]}\n  network: {unix_sockets: true}\n",
  );
});
afterAll(() => host[Symbol.asyncDispose]());

const start = (options: Parameters<typeof inProcess>[1] = {}) =>
  inProcess(host.registry, {
    spawnAllow: ["local/root"],
    limits: { maxConcurrent: 1, maxLiveCapsules: 3 },
    ...options,
  });
const last = ({ logged }: InProcess) => logged.at(-1);

describe("the log records a registration", () => {
  test("that was granted, with and without an approval", async () => {
    const daemon = start();
    const root = await daemon.caller.credential("ses_root", "local/root");
    expect(last(daemon)).toEqual({
      event: "register",
      session: "ses_root",
      capsule: "local/root@0.1.0",
      approval: "none",
      credential: tokenId(root),
      depth: 3,
      used: 1,
      free: 2,
    });
    const approval = await daemon.caller.approval(root, "local/child");
    const child = await daemon.caller.credential("ses_child", "local/child", approval);
    expect(last(daemon)).toEqual({
      event: "register",
      session: "ses_child",
      capsule: "local/child@0.1.0",
      approval: tokenId(approval),
      credential: tokenId(child),
      depth: 2,
      used: 2,
      free: 1,
    });
  });

  test("that was refused, with the session's id if it names one, and the reason why an artifact did not resolve", async () => {
    const daemon = start();
    await daemon.caller.register("ses_new", "local/other");
    expect(last(daemon)).toEqual({
      event: "register",
      refused: "not-in-spawn-allow",
      session: expect.stringMatching(/^sha256:[0-9a-f]{16}$/),
      capsule: "local/other@0.1.0",
      approval: "none",
      used: 0,
      free: 3,
      detail: undefined,
    });
    await daemon.caller.credential("ses_root", "local/root");
    await daemon.caller.register("ses_root", "local/root", "x");
    expect(last(daemon)).toMatchObject({ refused: "identity", session: "ses_root", approval: tokenId("x") });
    const answer = await daemon.caller.register("ses_new", "local/missing", "");
    expect(last(daemon)).toMatchObject({
      refused: "unresolved",
      approval: tokenId(""),
      detail: answer.json.error,
    });
  });

  test("that was refused although its approval verified, even beyond the limit of lines", async () => {
    const daemon = start();
    const calls: string[] = [];
    const { log } = daemon.context;
    const refused = (kind: "refused" | "refusedUnverified") => {
      const tell = log[kind];
      log[kind] = (fields) => {
        calls.push(kind);
        tell(fields);
      };
    };
    refused("refused");
    refused("refusedUnverified");
    const root = await daemon.caller.credential("ses_root", "local/root");
    const approval = await daemon.caller.approval(root, "local/child");
    await daemon.caller.register("ses_a", "local/child", approval);
    await daemon.caller.register("ses_b", "local/child", approval);
    await daemon.caller.register("ses_b", "local/child", "x");
    await daemon.caller.spawn(root, "local/wide");
    await daemon.caller.spawn("x", "local/wide");
    await daemon.caller.deregister("x");
    expect(calls).toEqual([
      "refused",
      "refusedUnverified",
      "refused",
      "refusedUnverified",
      "refusedUnverified",
    ]);
  });
});

describe("the log records a request to spawn", () => {
  test("that was granted", async () => {
    const daemon = start();
    const root = await daemon.caller.credential("ses_root", "local/root");
    const approval = await daemon.caller.approval(root, "local/child");
    expect(last(daemon)).toEqual({
      event: "spawn",
      session: "ses_root",
      capsule: "local/child@0.1.0",
      approval: tokenId(approval),
      depth: 2,
      used: 2,
      free: 1,
    });
  });

  test("without a credential, or with an unknown one", async () => {
    const daemon = start();
    const nobody = {
      event: "spawn",
      refused: "identity",
      session: undefined,
      capsule: "local/child@0.1.0",
      depth: undefined,
      used: 0,
      free: 3,
    };
    await daemon.caller.post("/spawn", { name: "local/child", version: "0.1.0" });
    expect(last(daemon)).toEqual({ ...nobody, credential: undefined });
    await daemon.caller.spawn("x", "local/child");
    expect(last(daemon)).toEqual({ ...nobody, credential: tokenId("x") });
    await daemon.caller.spawn("", "local/child");
    expect(last(daemon)).toEqual({ ...nobody, credential: tokenId("") });
  });

  test("of a running session, with the reason", async () => {
    const daemon = start();
    const { caller } = daemon;
    const root = await caller.credential("ses_root", "local/root");
    const session = { event: "spawn", session: "ses_root", credential: tokenId(root), depth: 3 };
    await caller.spawn(root, "local/other");
    const unlisted = { refused: "not-in-parent-allow", capsule: "local/other@0.1.0", used: 1, free: 2 };
    expect(last(daemon)).toEqual({ ...session, ...unlisted });
    const missing = await caller.spawn(root, "local/missing");
    const unresolved = { refused: "unresolved", capsule: "local/missing@0.1.0", used: 1, free: 2 };
    expect(last(daemon)).toEqual({ ...session, ...unresolved, detail: missing.json.error });
    await caller.spawn(root, "local/wide");
    expect(last(daemon)).toEqual({
      ...session,
      refused: "envelope",
      capsule: "local/wide@0.1.0",
      used: 1,
      free: 2,
      detail: "capabilities.network.unix_sockets: 'true'",
      also: "shell.allow,env.allow",
    });
    await caller.approval(root, "local/child");
    await caller.spawn(root, "local/child");
    const bound = { refused: "bound", capsule: "local/child@0.1.0", used: 2, free: 1, detail: "concurrency" };
    expect(last(daemon)).toEqual({ ...session, ...bound });
  });

  test("that exceeds one axis only, and names no other", async () => {
    await host.publish("local/child", "capabilities:\n  shell: {allow: [git, jq]}\n", "0.2.0");
    const daemon = start();
    const root = await daemon.caller.credential("ses_root", "local/root");
    await daemon.caller.spawn(root, "local/child", "0.2.0");
    expect(last(daemon)).toMatchObject({ detail: "capabilities.shell.allow: 'git'", also: undefined });
  });
});

describe("the log records a session's end", () => {
  test("with the session's outcome", async () => {
    const daemon = start();
    const root = await daemon.caller.credential("ses_root", "local/root");
    await daemon.caller.deregister(root, "failed");
    expect(last(daemon)).toEqual({
      event: "deregister",
      session: "ses_root",
      outcome: "failed",
      credential: tokenId(root),
      depth: 3,
      used: 0,
      free: 3,
    });
    await daemon.caller.deregister(root);
    const refused = { event: "deregister", refused: "identity", used: 0, free: 3 };
    expect(last(daemon)).toEqual({ ...refused, credential: tokenId(root) });
    await daemon.caller.post("/deregister", { outcome: "failed" });
    expect(last(daemon)).toEqual({ ...refused, credential: undefined });
  });
});

test.if(process.platform === "linux")(
  "figures count each process that ran before the daemon once",
  async () => {
    const child = sleeper();
    try {
      const records = ["ses_root", "ses_other"].map((sessionId) => ({
        sessionId,
        pid: child.pid,
        startToken: startTokenOf(child.pid),
      }));
      const daemon = start({ records, limits: { maxConcurrent: 1, maxLiveCapsules: 1 } });
      const live = async () => (await daemon.caller.status("ses_root")).json.live_capsules;
      const root = await daemon.caller.credential("ses_root", "local/root");
      expect(last(daemon)).toMatchObject({ used: 2, free: 0 });
      expect(await live()).toBe(2);
      await daemon.caller.deregister(root);
      expect(last(daemon)).toMatchObject({ used: 2, free: 0 });
      expect(await live()).toBe(2);
    } finally {
      await child.end();
    }
  },
);
