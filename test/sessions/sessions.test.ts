import { expect, test } from "bun:test";
import { type SessionId, Sessions } from "../../src/sessions/sessions.ts";
import { APPROVAL_LIFETIME_MS } from "../../src/tokens/authority.ts";
import { until } from "../kit/until.ts";

const id = (number: number) => `ses_${number}` as SessionId;
const approvalId = (number: number) => String(number).padStart(32, "0");

test("fifty thousand reservations end at once with their session, and are not walked twice on expiry", () => {
  let now = 0;
  const sessions = new Sessions<string>(() => now);
  const [one, other] = [id(1), id(2)];
  sessions.addRoot(one, 3, "held");
  sessions.addRoot(other, 3, "held");
  for (let count = 0; count < 50_000; count++) sessions.reserve(count % 2 ? one : other, approvalId(count));
  expect(sessions.live).toBe(50_002);
  sessions.finish(one, "complete");
  expect(sessions.live).toBe(25_001);
  expect(sessions.liveChildren(other)).toBe(25_000);
  now = APPROVAL_LIFETIME_MS;
  expect(sessions.live).toBe(1);
  expect(sessions.liveChildren(other)).toBe(0);
});

test("each approval is known for its own sixty seconds, regardless of how many others are granted", () => {
  let now = 0;
  const sessions = new Sessions<string>(() => now);
  sessions.addRoot(id(1), 3, "held");
  const grant = (from: number, to: number) => {
    for (let count = from; count < to; count++) sessions.reserve(id(1), approvalId(count));
  };
  grant(0, 20_000);
  now = 30_000;
  grant(20_000, 20_010);
  for (const known of [0, 1, 1023, 1024, 19_999, 20_009]) {
    expect(sessions.redeem(approvalId(known))).toBe("redeemed");
    expect(sessions.redeem(approvalId(known))).toBe("spent");
  }
  expect(sessions.redeem(approvalId(20_010))).toBe("unknown");
  now = APPROVAL_LIFETIME_MS;
  expect(sessions.redeem(approvalId(19_999))).toBe("unknown");
  expect(sessions.liveChildren(id(1))).toBe(10);
  expect(sessions.redeem(approvalId(20_009))).toBe("spent");
  expect(sessions.redeem(approvalId(20_000))).toBe("redeemed");
  sessions.addChild(id(2), 2, "held", id(1), approvalId(20_000));
  expect(sessions.live).toBe(11);
  grant(30_000, 34_000);
  expect(sessions.redeem(approvalId(20_001))).toBe("redeemed");
  now = 30_000 + APPROVAL_LIFETIME_MS;
  expect(sessions.redeem(approvalId(20_002))).toBe("unknown");
  expect(sessions.liveChildren(id(1))).toBe(4001);
});

test("an approval expires at its own time, even if the next one was granted a moment later", () => {
  let now = 0;
  const sessions = new Sessions<string>(() => now);
  sessions.addRoot(id(1), 3, "held");
  sessions.reserve(id(1), approvalId(1));
  sessions.reserve(id(1), approvalId(2));
  now = 1;
  sessions.reserve(id(1), approvalId(3));
  now = APPROVAL_LIFETIME_MS - 1;
  expect(sessions.redeem(approvalId(2))).toBe("redeemed");
  now = APPROVAL_LIFETIME_MS;
  expect([1, 2, 3].map((number) => sessions.redeem(approvalId(number)))).toEqual([
    "unknown",
    "unknown",
    "redeemed",
  ]);
  expect(sessions.liveChildren(id(1))).toBe(1);
});

test("what an ended session held is not kept while its children run", async () => {
  const sessions = new Sessions<object>(() => 0);
  const begin = () => {
    const held = { large: new Array(1000) };
    sessions.addRoot(id(1), 3, held);
    return new WeakRef(held);
  };
  const held = begin();
  sessions.reserve(id(1), approvalId(1));
  sessions.redeem(approvalId(1));
  sessions.addChild(id(2), 2, {}, id(1), approvalId(1));
  sessions.finish(id(1), "complete");
  await until("it is collected", () => {
    Bun.gc(true);
    return held.deref() === undefined;
  });
  expect(sessions.figures(id(1))).toEqual({ status: "complete", depthRemaining: 3, liveChildren: 1 });
});

test("the outcome and depth of every finished session are kept for ever", () => {
  const sessions = new Sessions<string>(() => 0);
  const outcome = (number: number) => (number % 3 === 0 ? "failed" : "complete");
  const depth = (number: number) => (number % 2 === 0 ? 0 : 2 ** 32 - 1);
  for (let number = 0; number < 20_000; number++) {
    expect(sessions.has(id(number))).toBe(false);
    sessions.addRoot(id(number), depth(number), "held");
    sessions.finish(id(number), outcome(number));
  }
  expect(sessions.live).toBe(0);
  for (let number = 0; number < 20_000; number++) {
    expect(sessions.has(id(number))).toBe(true);
    expect(sessions.running(id(number))).toBeUndefined();
    expect(sessions.figures(id(number))).toEqual({
      status: outcome(number),
      depthRemaining: depth(number),
      liveChildren: 0,
    });
  }
  expect(sessions.figures(id(20_000))).toBeUndefined();
});

test("each count reads the time itself", () => {
  for (const count of ["live", "liveChildren", "figures"] as const) {
    let now = 0;
    const sessions = new Sessions<string>(() => now);
    sessions.addRoot(id(1), 3, "held");
    sessions.reserve(id(1), approvalId(1));
    now = APPROVAL_LIFETIME_MS;
    if (count === "live") expect(sessions.live).toBe(1);
    if (count === "liveChildren") expect(sessions.liveChildren(id(1))).toBe(0);
    if (count === "figures") expect(sessions.figures(id(1))?.liveChildren).toBe(0);
  }
});

test("an unknown session or approval changes nothing", () => {
  const sessions = new Sessions<string>(() => 0);
  sessions.reserve(id(1), approvalId(1));
  sessions.finish(id(1), "complete");
  expect([sessions.live, sessions.liveChildren(id(1)), sessions.has(id(1))]).toEqual([0, 0, false]);
  expect(sessions.redeem(approvalId(1))).toBe("unknown");
  sessions.addChild(id(2), 2, "held", id(1), approvalId(1));
  sessions.finish(id(2), "failed");
  expect([sessions.live, sessions.figures(id(2))?.status]).toEqual([0, "failed"]);
});
