import { expect, test } from "bun:test";
import fc from "fast-check";
import { type SessionId, Sessions } from "../../src/sessions/sessions.ts";
import { APPROVAL_LIFETIME_MS } from "../../src/tokens/authority.ts";

/** Slow and obvious: every count is made anew from a list of everything that ever happened. */
class Model {
  now = 0;
  readonly sessions: { id: string; parent?: string; depth: number; status: string }[] = [];
  readonly grants: { jti: string; parent: string; at: number; spent: boolean; taken: boolean }[] = [];

  reserved(of?: string): number {
    return this.grants.filter(
      (grant) =>
        (of === undefined || grant.parent === of) &&
        !grant.taken &&
        grant.at + APPROVAL_LIFETIME_MS > this.now &&
        this.find(grant.parent)?.status === "running",
    ).length;
  }

  find(id: string) {
    return this.sessions.find((session) => session.id === id);
  }

  children(of: string): number {
    const running = this.sessions.filter(({ parent, status }) => parent === of && status === "running");
    return running.length + this.reserved(of);
  }

  live(): number {
    return this.sessions.filter(({ status }) => status === "running").length + this.reserved();
  }
}

interface Real {
  readonly sessions: Sessions<string>;
}

const id = (number: number) => `ses_${number}` as SessionId;
const approvalId = (number: number) => String(number).padStart(32, "0");

function agree(model: Model, { sessions }: Real): void {
  expect(sessions.live).toBe(model.live());
  for (const session of model.sessions) {
    expect(sessions.figures(session.id)).toEqual({
      status: session.status as "running",
      depthRemaining: session.depth,
      liveChildren: model.children(session.id),
    });
    expect(sessions.running(session.id) !== undefined).toBe(session.status === "running");
  }
}

type Step = fc.Command<Model, Real>;
const step = (name: string, run: (model: Model, real: Real) => void): Step => ({
  check: () => true,
  run(model, real) {
    run(model, real);
    agree(model, real);
  },
  toString: () => name,
});

const pick = <T>(list: readonly T[], at: number): T | undefined => list[at % Math.max(1, list.length)];

const registerRoot = fc.nat(9).map((depth) =>
  step(`root(${depth})`, (model, { sessions }) => {
    const next = id(model.sessions.length);
    expect(sessions.has(next)).toBe(false);
    sessions.addRoot(next, depth, "held");
    model.sessions.push({ id: next, depth, status: "running" });
    expect(sessions.has(next)).toBe(true);
  }),
);

const spawn = fc.nat().map((at) =>
  step(`spawn(${at})`, (model, { sessions }) => {
    // The referee grants nothing where no depth is left.
    const able = model.sessions.filter(({ status, depth }) => status === "running" && depth > 0);
    const parent = pick(able, at);
    if (!parent) return;
    const jti = approvalId(model.grants.length);
    sessions.reserve(parent.id as SessionId, jti);
    model.grants.push({ jti, parent: parent.id, at: model.now, spent: false, taken: false });
  }),
);

/** `fails`: the approval verifies and is spent, and names another artifact. */
const redeem = fc.tuple(fc.nat(), fc.boolean()).map(([at, fails]) =>
  step(`redeem(${at}, ${fails})`, (model, { sessions }) => {
    const grant = pick(model.grants, at);
    if (!grant) return;
    const expired = grant.at + APPROVAL_LIFETIME_MS <= model.now;
    const expected = expired ? "unknown" : grant.spent ? "spent" : "redeemed";
    expect(sessions.redeem(grant.jti)).toBe(expected);
    if (expected !== "redeemed") return;
    grant.spent = true;
    const parent = model.find(grant.parent);
    if (fails || parent?.status !== "running") return;
    const next = id(model.sessions.length);
    sessions.addChild(next, parent.depth - 1, "held", parent.id as SessionId, grant.jti);
    grant.taken = true;
    model.sessions.push({ id: next, parent: parent.id, depth: parent.depth - 1, status: "running" });
  }),
);

const deregister = fc
  .tuple(fc.nat(), fc.constantFrom("complete" as const, "failed" as const))
  .map(([at, outcome]) =>
    step(`deregister(${at}, ${outcome})`, (model, { sessions }) => {
      const session = pick(model.sessions, at);
      if (!session) return;
      sessions.finish(session.id as SessionId, outcome);
      if (session.status === "running") session.status = outcome;
    }),
  );

const wait = fc.constantFrom(1, 500, 29_999, 30_000, 59_999, 60_000, 3_600_000).map((milliseconds) =>
  step(`wait(${milliseconds})`, (model) => {
    model.now += milliseconds;
  }),
);

test("counts equal a slow and obvious model's at every step", () => {
  fc.assert(
    fc.property(
      fc.commands([registerRoot, spawn, spawn, spawn, redeem, redeem, deregister, wait], { maxCommands: 60 }),
      (commands) => {
        fc.modelRun(() => {
          const model = new Model();
          return { model, real: { sessions: new Sessions<string>(() => model.now) } };
        }, commands);
      },
    ),
    { numRuns: 1500 },
  );
});

test("fifty thousand reservations of one session end with it at once, and expire without being walked twice", () => {
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

test("each approval is known for its own sixty seconds, however many were granted before and after it", () => {
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

test("an approval expires at its own time, also where the next one was granted a moment later", () => {
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

test("a finished session is known by its outcome and depth for ever, however many there are", () => {
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
