import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { createHost, type Host, IDENTITY_REFUSAL, spawns } from "../kit/host.ts";
import { type InProcess, inProcess } from "../kit/in-process.ts";

const MINUTE = 60_000;
const EXPIRED =
  "this spawn approval has passed its expiry; an approval is valid for 60 seconds from the POST /spawn that granted it";
const REDEEMED =
  "this spawn approval has already been redeemed; an approval covers one launch, so ask POST /spawn for another";

let host: Host;
let daemon: InProcess;
let root: string;

beforeAll(async () => {
  host = createHost();
  await host.publish("local/root", spawns("local/child", "local/other", "local/root"));
  await host.publish("local/child", spawns("local/child"));
  await host.publish("local/other");
});
afterAll(() => host[Symbol.asyncDispose]());
beforeEach(async () => {
  daemon = inProcess(host.registry, { spawnAllow: ["local/root"] });
  root = await daemon.caller.credential("ses_root", "local/root");
});

const pass = (wall: number, monotonic = wall) => {
  daemon.clock.wall += wall;
  daemon.clock.monotonic += monotonic;
};
const figures = async (session: string) => (await daemon.caller.status(session)).json;

describe("an approval", () => {
  test("lasts 60 seconds, and so does its slot", async () => {
    const answer = await daemon.caller.spawn(root, "local/child");
    expect(answer.json.expires_at_ms).toBe(daemon.clock.wall + MINUTE);
    pass(MINUTE - 1);
    expect(await figures("ses_root")).toMatchObject({ live_children: 1, live_capsules: 2 });
    pass(1);
    expect(await figures("ses_root")).toMatchObject({ live_children: 0, live_capsules: 1 });
    const late = await daemon.caller.register("ses_child", "local/child", String(answer.json.approval));
    expect([late.status, late.json.error]).toEqual([403, EXPIRED]);
  });

  test("makes one session; a second use is refused as spent, or as expired after its expiry", async () => {
    const approval = await daemon.caller.approval(root, "local/child");
    expect((await daemon.caller.register("ses_1", "local/child", approval)).status).toBe(200);
    const again = await daemon.caller.register("ses_2", "local/child", approval);
    expect([again.status, again.json.error]).toEqual([403, REDEEMED]);
    pass(MINUTE);
    expect((await daemon.caller.register("ses_2", "local/child", approval)).json.error).toBe(EXPIRED);
  });

  test("that has expired by the wall clock is expired, even if a minute has not passed", async () => {
    const approval = await daemon.caller.approval(root, "local/child");
    pass(MINUTE, 1);
    expect((await daemon.caller.register("ses_1", "local/child", approval)).json.error).toBe(EXPIRED);
    // Its slot is released by the monotonic clock, which cannot be set.
    expect(await figures("ses_root")).toMatchObject({ live_children: 1 });
    pass(0, MINUTE);
    expect(await figures("ses_root")).toMatchObject({ live_children: 0 });
  });

  test("expires after a minute and frees its slot, even if the wall clock was set back an hour", async () => {
    const approval = await daemon.caller.approval(root, "local/child");
    const spent = await daemon.caller.approval(root, "local/child");
    await daemon.caller.register("ses_spent", "local/child", spent);
    pass(-3_600_000, MINUTE);
    expect(await figures("ses_root")).toMatchObject({ live_children: 1, live_capsules: 2 });
    expect((await daemon.caller.register("ses_1", "local/child", approval)).json.error).toBe(EXPIRED);
    expect((await daemon.caller.register("ses_2", "local/child", spent)).json.error).toBe(EXPIRED);
  });

  test("is spent as soon as it verifies, before the artifact is compared, and keeps its slot until it expires", async () => {
    const approval = await daemon.caller.approval(root, "local/child");
    const other = await daemon.caller.register("ses_1", "local/other", approval);
    expect([other.status, other.json.error]).toEqual([
      403,
      "this spawn approval was granted for 'local/child@0.1.0', not 'local/other@0.1.0'",
    ]);
    expect((await daemon.caller.register("ses_1", "local/child", approval)).json.error).toBe(REDEEMED);
    expect(await figures("ses_root")).toMatchObject({ live_children: 1 });
    pass(MINUTE);
    expect(await figures("ses_root")).toMatchObject({ live_children: 0 });
  });

  test("is valid only for the bytes that were judged", async () => {
    const granted = await daemon.caller.spawn(root, "local/other");
    const replaced = await host.publish("local/other", "x: 1\n");
    const answer = await daemon.caller.register("ses_1", "local/other", String(granted.json.approval));
    expect([answer.status, answer.json.error]).toEqual([
      403,
      `'local/other@0.1.0' now resolves to a different artifact than the one this spawn approval was granted for (approved sha256 ${granted.json.sha256}, resolved sha256 ${replaced})`,
    ]);
  });

  test("is not spent by an earlier failure: a used session id, an artifact that does not resolve", async () => {
    const approval = await daemon.caller.approval(root, "local/child");
    const used = await daemon.caller.register("ses_root", "local/child", approval);
    expect([used.status, used.json.error]).toEqual([403, IDENTITY_REFUSAL]);
    expect((await daemon.caller.register("ses_1", "local/nowhere", approval)).status).toBe(500);
    expect((await daemon.caller.register("ses_1", "local/child", approval)).status).toBe(200);
  });

  test("of a session that has ended is refused as unknown, and its slot is free at once", async () => {
    const approval = await daemon.caller.approval(root, "local/child");
    await daemon.caller.deregister(root);
    expect(await figures("ses_root")).toMatchObject({
      status: "complete",
      live_children: 0,
      live_capsules: 0,
    });
    expect((await daemon.caller.register("ses_1", "local/child", approval)).json.error).toBe(
      IDENTITY_REFUSAL,
    );
  });

  test("that does not verify never falls back to --spawn-allow, not even an empty one", async () => {
    for (const approval of ["", "x", root]) {
      const answer = await daemon.caller.register("ses_1", "local/root", approval);
      expect([answer.status, answer.json.error]).toEqual([403, IDENTITY_REFUSAL]);
    }
    expect((await daemon.caller.register("ses_1", "local/nowhere", "x")).status).toBe(500);
  });

  test("needs no --spawn-allow for its name", async () => {
    expect((await daemon.caller.register("ses_1", "local/child")).json.error).toBe(
      "capsule 'local/child' is not in --spawn-allow",
    );
    const approval = await daemon.caller.approval(root, "local/child");
    expect((await daemon.caller.register("ses_1", "local/child", approval)).status).toBe(200);
  });
});

describe("a session's own grants", () => {
  test("are those of its artifact at its registration, whatever is published later", async () => {
    await host.publish("local/root", spawns());
    expect((await daemon.caller.spawn(root, "local/child")).status).toBe(200);
    await daemon.caller.credential("ses_later", "local/root").then(async (credential) => {
      expect((await daemon.caller.spawn(credential, "local/child")).json.error).toBe(
        "capsule 'local/child' is not in parent's spawn_allow",
      );
    });
    await host.publish("local/root", spawns("local/child", "local/other", "local/root"));
  });
});
