import { expect, test } from "bun:test";
import fc from "fast-check";
import { type SessionId, Sessions } from "../../src/sessions/sessions.ts";
import { expected, Model, seen } from "./model.ts";

interface Real {
  readonly sessions: Sessions<string>;
}

const id = (number: number) => `ses_${number}` as SessionId;

type Step = fc.Command<Model, Real>;
type Happening = (model: Model, sessions: Sessions<string>) => void;
const step = (name: string, run: Happening): Step => ({
  check: () => true,
  run(model, { sessions }) {
    run(model, sessions);
    expect(seen(sessions, model)).toBe(expected(model));
  },
  toString: () => name,
});

const pick = <T>(list: readonly T[], at: number): T | undefined => list[at % Math.max(1, list.length)];

function root(depth: number): Happening {
  return (model, sessions) => {
    const next = id(model.sessions.length);
    expect(sessions.has(next)).toBe(false);
    sessions.addRoot(next, depth, "held");
    model.add({ id: next, depth, status: "running" });
  };
}

function spawn(at: number): Happening {
  return (model, sessions) => {
    // The referee grants nothing where no depth is left.
    const able = model.sessions.filter(({ status, depth }) => status === "running" && depth > 0);
    const parent = pick(able, at);
    if (parent) sessions.reserve(parent.id, model.grant(parent.id).jti);
  };
}

/** `fails`: the approval verifies and is spent, and names another artifact. */
function redeem(at: number, fails: boolean): Happening {
  return (model, sessions) => {
    const grant = pick(model.grants, at);
    if (!grant) return;
    const redemption = model.redeem(grant);
    expect(sessions.redeem(grant.jti)).toBe(redemption);
    const parent = model.find(grant.parent);
    if (redemption !== "redeemed" || fails || parent?.status !== "running") return;
    const child = { id: id(model.sessions.length), depth: parent.depth - 1 };
    sessions.addChild(child.id, child.depth, "held", parent.id, grant.jti);
    grant.taken = true;
    model.add({ ...child, parent: parent.id, status: "running" });
  };
}

function deregister(at: number, outcome: "complete" | "failed"): Happening {
  return (model, sessions) => {
    const session = pick(model.sessions, at);
    if (!session) return;
    sessions.finish(session.id, outcome);
    model.finish(session, outcome);
  };
}

function wait(milliseconds: number): Happening {
  return (model) => {
    model.now += milliseconds;
  };
}

const outcome = fc.constantFrom("complete" as const, "failed" as const);
const spawning = fc.nat().map((at) => step(`spawn(${at})`, spawn(at)));
const redeeming = fc
  .tuple(fc.nat(), fc.boolean())
  .map(([at, fails]) => step(`redeem(${at}, ${fails})`, redeem(at, fails)));
const steps = [
  fc.nat(9).map((depth) => step(`root(${depth})`, root(depth))),
  spawning,
  spawning,
  spawning,
  redeeming,
  redeeming,
  fc.tuple(fc.nat(), outcome).map(([at, how]) => step(`deregister(${at}, ${how})`, deregister(at, how))),
  fc
    .constantFrom(1, 500, 29_999, 30_000, 59_999, 60_000, 3_600_000)
    .map((milliseconds) => step(`wait(${milliseconds})`, wait(milliseconds))),
];

test("counts equal a slow and obvious model's at every step", () => {
  fc.assert(
    fc.property(fc.commands(steps, { maxCommands: 60 }), (commands) => {
      fc.modelRun(() => {
        const model = new Model();
        return { model, real: { sessions: new Sessions<string>(() => model.now) } };
      }, commands);
    }),
    { numRuns: 1500 },
  );
});

/** Numbers below `bound`, the same for the same seed. */
function numbers(seed: number): (bound: number) => number {
  let state = seed >>> 0;
  return (bound) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * bound);
  };
}

/** What happens next in a long history: sessions come and go, and most approvals are redeemed while they are young. */
function happening(model: Model, next: (bound: number) => number): Happening {
  const kind = next(1000);
  const recent = (count: number, among: number) => Math.max(0, count - 1 - next(among));
  if (kind < 250) return root(next(4));
  if (kind < 430) {
    // Only among the last ones: to look at all of them for each event would take minutes.
    const parent = model.sessions.slice(-40).find(({ status, depth }) => status === "running" && depth > 0);
    return (_, sessions) => {
      if (parent) sessions.reserve(parent.id, model.grant(parent.id).jti);
    };
  }
  if (kind < 600) return redeem(recent(model.grants.length, 20), next(10) === 0);
  if (kind < 995) return deregister(recent(model.sessions.length, 60), next(2) ? "complete" : "failed");
  return wait(next(8000));
}

test("counts equal the model's with more than ten thousand sessions, most of which have ended", () => {
  fc.assert(
    fc.property(fc.noShrink(fc.integer()), (seed) => {
      const model = new Model();
      const sessions = new Sessions<string>(() => model.now);
      const next = numbers(seed);
      for (let count = 1; model.sessions.length < 12_000; count++) {
        happening(model, next)(model, sessions);
        if (count % 8000 === 0) expect(seen(sessions, model)).toBe(expected(model));
      }
      expect(seen(sessions, model)).toBe(expected(model));
      const ended = model.sessions.filter(({ status }) => status !== "running");
      expect(ended.length).toBeGreaterThan(7_000);
      expect(sessions.has(id(model.sessions.length))).toBe(false);
    }),
    { numRuns: 1 },
  );
});
