import { describe, expect, test } from "bun:test";
import { createHost, IDENTITY_REFUSAL, spawns } from "../kit/host.ts";
import { shared } from "../kit/shared.ts";

const host = shared(async (undo) => {
  const made = undo.use(createHost(["--spawn-allow", "local/root"]));
  await made.publish("local/root", spawns("local/child", "local/broken", "local/missing"));
  await made.publish("local/child", spawns("local/child"));
  await made.publish("local/broken", "capabilities: {shell: {allow: null}}\n");
  return made;
});
const daemon = shared(() =>
  host().start(["--spawn-allow=local/missing", "--max-concurrent", "1000", "--max-live-capsules", "1000"]),
);
const caller = () => daemon().caller;

describe("a formation over the wire", () => {
  test("gets exactly the expected bytes for each step", async () => {
    expect((await caller().send("/health")).text).toBe("{}");
    const root = await caller().register("ses_bytes", "local/root");
    expect(root.text).toMatch(/^\{"credential":"msc1\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]{43}"\}$/);
    const credential = String(root.json.credential);
    const before = Date.now();
    const granted = await caller().spawn(credential, "local/child");
    expect(granted.text).toMatch(
      /^\{"approval":"msa1\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]{43}","name":"local\/child","version":"0\.1\.0","sha256":"[0-9a-f]{64}","expires_at_ms":\d{13}\}$/,
    );
    const expires = Number(granted.json.expires_at_ms);
    expect(expires).toBeWithin(before + 60_000, Date.now() + 60_001);
    const live = Number((await caller().status("ses_bytes")).json.live_capsules);
    expect((await caller().status("ses_bytes")).text).toBe(
      `{"status":"running","depth_remaining":3,"live_children":1,"live_capsules":${live}}`,
    );
    const child = await caller().credential("ses_bytes_child", "local/child", String(granted.json.approval));
    expect((await caller().deregister(child, "failed")).text).toBe("{}");
    expect((await caller().deregister(child, "failed")).text).toBe(
      JSON.stringify({ error: IDENTITY_REFUSAL }),
    );
    expect((await caller().spawn(child, "local/child")).text).toBe(
      JSON.stringify({ error: IDENTITY_REFUSAL }),
    );
    expect((await caller().deregister(credential)).text).toBe("{}");
    expect((await caller().status("ses_nobody")).text).toBe('{"error":"session not found"}');
    const again = await caller().register("ses_bytes", "local/root");
    expect([again.status, again.json.error]).toEqual([403, IDENTITY_REFUSAL]);
  });

  test("ignores extra keys, even a claim of capabilities, and the content type", async () => {
    const extra = {
      session_id: "ses_extra",
      name: "local/root",
      version: "0.1.0",
      capabilities: { spawn: { allow: ["x/y"] } },
      sid: "ses_bytes",
    };
    for (const type of [
      "text/plain",
      "multipart/form-data",
      "application/x-www-form-urlencoded",
      "application/json",
    ]) {
      const body = { ...extra, session_id: `ses_extra_${type.length}` };
      expect((await caller().post("/register", body, { "content-type": type })).status).toBe(200);
    }
  });

  test("is judged by the credential, not by claims in a body", async () => {
    const body = { name: "local/child", version: "0.1.0", session_id: "ses_extra_10" };
    const answer = await caller().post("/spawn", body);
    expect([answer.status, answer.json.error]).toEqual([403, IDENTITY_REFUSAL]);
  });

  test("gets 500 with the registry's message and the coordinate for what cannot be resolved", async () => {
    const root = await caller().credential("ses_unresolved", "local/root");
    const broken = await caller().spawn(root, "local/broken");
    expect([broken.status, broken.json.error]).toEqual([
      500,
      "manifest parse error: 'local/broken/0.1.0': capabilities.shell.allow: must be a list",
    ]);
    const missing = await caller().register("ses_x", "local/missing");
    expect(missing.status).toBe(500);
    expect(missing.json.error).toStartWith("registry error for 'local/missing/0.1.0': not found: ");
    for (const version of ["latest", "stable", "edge", "9.9.9"]) {
      expect((await caller().spawn(root, "local/child", version)).status).toBe(500);
    }
  });
});

describe("a body that is not a request", () => {
  const good = { session_id: "ses_good", name: "local/root", version: "0.1.0" };
  test.each([
    ["", "invalid JSON: the body is empty, and must be a JSON object"],
    ["{", "invalid JSON: the body cannot be parsed"],
    ["[]", "the body must be a JSON object"],
    ["null", "the body must be a JSON object"],
    ['"x"', "the body must be a JSON object"],
    ["1", "the body must be a JSON object"],
    [`\ufeff${JSON.stringify(good)}`, "invalid JSON: the body cannot be parsed"],
    [{}, "'session_id' is required"],
    [{ ...good, session_id: 1 }, "'session_id' must be a string"],
    [{ ...good, name: null }, "'name' must be a string"],
    [{ ...good, version: ["0.1.0"] }, "'version' must be a string"],
    [{ ...good, session_id: "" }, "session_id must not be empty"],
    [{ ...good, session_id: ".." }, "'session_id' must be"],
    [{ ...good, session_id: "a/b" }, "'session_id' must be"],
    [{ ...good, session_id: "a".repeat(257) }, "'session_id' must be"],
    [{ ...good, name: "root" }, "'name' must be a capsule full name, <scope>/<name>"],
    [{ ...good, name: "../../etc/x" }, "'name' must be a capsule full name, <scope>/<name>"],
    [{ ...good, version: "" }, "'version' must be"],
    [{ ...good, version: ".." }, "'version' must be"],
    [{ ...good, version: "../0.1.0" }, "'version' must be"],
    [{ ...good, version: "0.1.0\u0000" }, "'version' must be"],
  ])("%j is answered with what to change", async (body, said) => {
    const answer = await caller().post("/register", body);
    expect(answer.status).toBe(400);
    expect(answer.json.error).toStartWith(said);
  });

  test("is refused before its credential is checked", async () => {
    expect((await caller().post("/spawn", { name: "x", version: "1" })).status).toBe(400);
    expect((await caller().post("/deregister", { outcome: "done" })).json.error).toBe(
      "outcome 'done' is not 'complete' or 'failed'",
    );
    expect((await caller().post("/deregister", { outcome: "complete" })).json.error).toBe(IDENTITY_REFUSAL);
  });

  test("must be UTF-8", async () => {
    const bytes = Buffer.from(JSON.stringify({ ...good, version: "\u00ff" }), "latin1");
    const answer = await caller().send("/register", { method: "POST", body: bytes });
    expect([answer.status, answer.json.error]).toEqual([400, "invalid JSON: the body is not valid UTF-8"]);
  });
});

test("any other path or method is not found", async () => {
  for (const [method, path] of [
    ["GET", "/"],
    ["GET", "/health/"],
    ["POST", "/health"],
    ["GET", "/spawn"],
    ["PUT", "/spawn"],
    ["OPTIONS", "/spawn"],
    ["DELETE", "/status/ses_bytes"],
    ["GET", "/status"],
    ["GET", "/status/"],
    ["GET", "/status/ses_bytes/"],
    ["GET", "/status/ses%5fbytes"],
    ["GET", "/status/a~b"],
    ["GET", "/Health"],
  ] as const) {
    const answer = await caller().send(path, { method });
    expect([path, answer.status, answer.text]).toEqual([path, 404, '{"error":"not found"}']);
  }
  const head = await fetch(`${daemon().url}/health`, { method: "HEAD" });
  expect([head.status, await head.text()]).toEqual([404, ""]);
});

test("tokens are refused with any one character changed, and across daemons", async () => {
  const root = await caller().credential("ses_tokens", "local/root");
  const other = await host().start();
  const foreign = await other.caller.credential("ses_tokens", "local/root");
  const last = root.slice(-1);
  const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  const trailing = alphabet.charAt(alphabet.indexOf(last) ^ 1);
  for (const token of [
    foreign,
    root.slice(0, -1) + trailing,
    `${root}=`,
    root.slice(1),
    "",
    `${root},${root}`,
  ]) {
    const answer = await caller().spawn(token, "local/child");
    expect([answer.status, answer.json.error]).toEqual([403, IDENTITY_REFUSAL]);
  }
  await other.stop();
});

describe("with many callers at once", () => {
  test("one approval redeemed by 24 callers makes one session", async () => {
    const root = await caller().credential("ses_race", "local/root");
    const approval = await caller().approval(root, "local/child");
    const answers = await Promise.all(
      Array.from({ length: 24 }, (_, index) =>
        caller().register(`ses_race_${index}`, "local/child", approval),
      ),
    );
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(new Set(answers.filter(({ status }) => status !== 200).map(({ text }) => text))).toHaveLength(1);
  });

  test("a race of 100 spawns never exceeds the slots, cold or warm", async () => {
    await using small = createHost(["--spawn-allow", "local/root"]);
    await small.publish("local/root", spawns("local/child"));
    await small.publish("local/child");
    const { caller: bounded } = await small.start(["--max-concurrent", "7", "--max-live-capsules", "10"]);
    const roots = [
      await bounded.credential("ses_1", "local/root"),
      await bounded.credential("ses_2", "local/root"),
    ];
    const race = () =>
      Promise.all(
        Array.from({ length: 100 }, (_, index) => bounded.spawn(roots[index % 2] ?? "", "local/child")),
      );
    for (const answers of [await race(), await race()]) {
      expect(answers.every(({ status }) => status === 200 || status === 403)).toBe(true);
    }
    const figures = [(await bounded.status("ses_1")).json, (await bounded.status("ses_2")).json];
    expect(figures.map((each) => each.live_capsules)).toEqual([10, 10]);
    expect(figures.reduce((sum, each) => sum + Number(each.live_children), 0)).toBe(8);
    expect(Math.max(...figures.map((each) => Number(each.live_children)))).toBeLessThanOrEqual(7);
  });
});

test("a restart voids every token and forgets every session", async () => {
  await using other = createHost(["--spawn-allow", "local/root"]);
  await other.publish("local/root", spawns("local/root"));
  const first = await other.start();
  const root = await first.caller.credential("ses_1", "local/root");
  const approval = await first.caller.approval(root, "local/root");
  await first.kill("SIGKILL");
  const { caller: second } = await other.start();
  expect((await second.spawn(root, "local/root")).json.error).toBe(IDENTITY_REFUSAL);
  expect((await second.register("ses_2", "local/root", approval)).json.error).toBe(IDENTITY_REFUSAL);
  expect((await second.status("ses_1")).status).toBe(404);
});

test.if(process.env.MUR_ROOST_SLOW_TESTS === "1")("an approval expires after a real minute", async () => {
  const root = await caller().credential("ses_minute", "local/root");
  const approval = await caller().approval(root, "local/child");
  await Bun.sleep(60_100);
  expect((await caller().register("ses_minute_child", "local/child", approval)).json.error).toStartWith(
    "this spawn approval has passed its expiry",
  );
  expect((await caller().status("ses_minute")).json.live_children).toBe(0);
});
