/** A child that closes its session reports its end itself, before it gives its slot back. */

import { describe, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type LaunchedChild, parseDoorUrl } from "../../../src/runtime/index.ts";
import { shared } from "../../kit/shared.ts";
import { until } from "../../kit/until.ts";
import { sharedParent } from "../parent.ts";

const { world, parent } = sharedParent();

interface Posted {
  readonly delegation: string | null;
  readonly text: string;
  /** The sender's status at the daemon when it posted. */
  readonly status: string;
}

/** A parent's door that takes every completion; `silent` answers none. */
const door = shared(async (undo) => {
  const posts: Posted[] = [];
  let silent = false;
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    idleTimeout: 0,
    async fetch(request) {
      const { params } = (await request.json()) as { params: { message: { parts: { text: string }[] } } };
      const text = params.message.parts[0]?.text ?? "";
      const [, session = ""] = /^session_id: (.*)$/m.exec(text) ?? [];
      const delegation = request.headers.get("x-murmur-delegation-id");
      posts.push({ delegation, text, status: await statusOf(session) });
      return silent ? new Promise<Response>(() => {}) : Response.json({ jsonrpc: "2.0", id: 1, result: {} });
    },
  });
  undo.defer(() => server.stop(true));
  const url = parseDoorUrl(`http://127.0.0.1:${server.port}`);
  if (!url) throw new Error("no door");
  return {
    url,
    of: ({ delegationId }: LaunchedChild) => posts.filter(({ delegation }) => delegation === delegationId),
    beSilent(is: boolean) {
      silent = is;
    },
  };
});

const statusOf = (sessionId: string) => parent().statusOf(sessionId);

function recordOf({ records }: LaunchedChild) {
  if (!records.ok) throw new Error(records.fault);
  const path = join(records.value.path, "completion.json");
  return existsSync(path) ? JSON.parse(readFileSync(path, "utf8")) : undefined;
}

describe("a script that closes its session", () => {
  test.each([
    ["complete", "ok"],
    ["failed", "error"],
  ])("as %s has recorded and posted %s, and then given its slot back", async (outcome, status) => {
    door().beSilent(false);
    using child = await parent().launched(`closing-script:${outcome}`, { completionDoor: door().url });
    expect(await child.exited).toEqual({ kind: "exited", status: 0 });
    const { delegationId, sessionId, workdir } = child;
    expect(recordOf(child)).toEqual({
      delegation_id: delegationId,
      capsule_name: "worker",
      capsule_version: "0.1.0",
      session_id: sessionId,
      status,
      result_path: join(workdir.path, "out/result.txt"),
      workdir: workdir.path,
      duration_ms: expect.any(Number),
      reported_by: "child",
      delivered: true,
    });
    const [post, ...more] = door().of(child);
    expect(more).toEqual([]);
    expect(post?.status).toBe("running");
    expect(post?.text).toContain(`\nstatus: ${status}\n`);
    expect(await statusOf(sessionId)).toBe(outcome);
  });

  test("as anything else has failed", async () => {
    using child = await parent().launched("odd-script");
    expect(await child.exited).toEqual({ kind: "exited", status: 0 });
    expect(recordOf(child)).toMatchObject({ status: "error" });
    expect(await statusOf(child.sessionId)).toBe("failed");
  });

  test("gives its slot back even if it cannot report its end, and says so", async () => {
    using child = await parent().launched("odd-script:unclocked");
    expect(await child.exited).toEqual({ kind: "exited", status: 0 });
    expect(recordOf(child)).toBeUndefined();
    expect(await statusOf(child.sessionId)).toBe("failed");
    const line = `session ${child.sessionId} could not report its end: there is no clock`;
    await until("it was told", () => parent().written().includes(line));
  });

  test("has recorded it and posts nothing if it was given no url", async () => {
    using child = await parent().launched("closing-script:complete");
    expect(await child.exited).toEqual({ kind: "exited", status: 0 });
    const record = recordOf(child);
    expect(record).toMatchObject({ status: "ok", delivered: false });
    expect(record).not.toHaveProperty("delivery_error");
    expect(await statusOf(child.sessionId)).toBe("complete");
  });

  test.each([
    ["follows its spawner", "closing-script:complete", { kind: "exited", status: 143 }],
    ["does not", "closing-script:complete:early", { kind: "signaled", signal: "SIGTERM", number: 15 }],
  ])(
    "and %s gives its slot back when it is ended, whether or not its post is answered",
    async (_, mode, end) => {
      door().beSilent(true);
      using child = await parent().launched(mode, { completionDoor: door().url });
      await until("it has posted", () => door().of(child).length > 0);
      expect(recordOf(child)).toMatchObject({ status: "ok", delivered: false });
      child.signal("SIGTERM");
      // A post that was waited for would take its 30 s.
      const exited = await Promise.race([child.exited, Bun.sleep(20_000).then(() => "it waits")]);
      expect(exited).toEqual(end as Awaited<typeof child.exited>);
      expect(await statusOf(child.sessionId)).not.toBe("running");
      expect(recordOf(child)).toMatchObject({ status: "ok", delivered: false });
    },
  );

  test("that is ended before its run is over leaves the record to its launcher", async () => {
    using child = await parent().launched("long-script", { completionDoor: door().url });
    child.signal("SIGTERM");
    expect(await child.exited).toEqual({ kind: "exited", status: 143 });
    expect(recordOf(child)).toBeUndefined();
    expect(door().of(child)).toEqual([]);
    expect(await statusOf(child.sessionId)).toBe("failed");
  });
});

test("an agent whose wind-down fails gives its slot back, and says why", async () => {
  using child = await parent().launched("failing-agent");
  child.signal("SIGTERM");
  expect(await child.exited).toEqual({ kind: "exited", status: 1 });
  await until("it is retired", async () => (await statusOf(child.sessionId)) === "failed");
  await until("it was told", () => parent().written().includes("winding down failed: the disk is full"));
});

test.each(["signal", "options", "door", "line"])(
  "an agent whose program throws while it begins to serve (%s) retires, and closes its door",
  async (moment) => {
    const outcome = await parent().launch(`unready-agent:${moment}`);
    if (outcome.kind !== "failed") throw new Error(outcome.kind);
    const { message, lastLines, started } = outcome.failure;
    expect(message).toEndWith("it ended (exit status: 6) without a first line");
    expect(lastLines).toContain("the disk is full, its door is closed");
    const home = join(world().home, ".murmur");
    const [session = ""] = readdirSync(join(home, "records", String(started?.workdir)));
    expect(await statusOf(session)).toBe("failed");
    expect(existsSync(join(home, "sessions", session))).toBe(false);
    const record = readFileSync(
      join(home, "records", String(started?.workdir), session, "completion.json"),
      "utf8",
    );
    expect(JSON.parse(record)).toMatchObject({ status: "error", reported_by: "child" });
  },
);

test("a script that an exception ends leaves the record to its launcher, which sees how it ended", async () => {
  using child = await parent().launched("throwing-script", { completionDoor: door().url });
  expect(await child.exited).toEqual({ kind: "exited", status: 1 });
  expect(recordOf(child)).toBeUndefined();
  expect(await statusOf(child.sessionId)).toBe("failed");
});

describe("an agent that closes its session", () => {
  test("has recorded the result in its records directory", async () => {
    door().beSilent(false);
    using child = await parent().launched("closing-agent", { completionDoor: door().url });
    expect(await child.exited).toEqual({ kind: "exited", status: 0 });
    if (!child.records.ok) throw new Error(child.records.fault);
    const result_path = join(child.records.value.path, "out/result.txt");
    expect(recordOf(child)).toMatchObject({ status: "ok", delivered: true, result_path });
  });

  test("gives its slot back even if it cannot report its end", async () => {
    using child = await parent().launched("unclocked-agent");
    expect(await child.exited).toEqual({ kind: "exited", status: 1 });
    expect(recordOf(child)).toBeUndefined();
    expect(await statusOf(child.sessionId)).toBe("failed");
  });

  test("because it is being ended waits for no answer of its parent", async () => {
    door().beSilent(true);
    using child = await parent().launched("agent", { completionDoor: door().url });
    child.signal("SIGTERM");
    expect(await child.exited).toEqual({ kind: "exited", status: 0 });
    expect(recordOf(child)).toMatchObject({ status: "ok", delivered: false });
    expect(door().of(child)).toEqual([]);
    expect(await statusOf(child.sessionId)).toBe("complete");
  });
});
