import { expect, test } from "bun:test";
import { type SessionId, Sessions } from "../../src/sessions/sessions.ts";
import { APPROVAL_LIFETIME_MS } from "../../src/tokens/authority.ts";
import { expected, Model, seen } from "./model.ts";

const MOST_EVENTS = 7;
const MOST_SESSIONS = 3;
const MOST_APPROVALS = 2;
/** Two of them are an approval's life. */
const CLOCK_STEP_MS = APPROVAL_LIFETIME_MS / 2;

/** Sessions and approvals, numbered in the order of their first appearance: any other order is the same history. */
type Event =
  | { readonly kind: "root" }
  | { readonly kind: "spawn"; readonly parent: number }
  /** `fails`: the approval verifies and is spent, and names another artifact. */
  | { readonly kind: "redeem"; readonly approval: number; readonly fails: boolean }
  | { readonly kind: "finish"; readonly session: number }
  | { readonly kind: "clock" };

/** Depth is the referee's affair: here it is only kept. */
const depthOf = (number: number) => number + 5;
const id = (number: number) => `ses_${number}` as SessionId;

/** Applies an event to both. An event that cannot happen in this state is skipped, and the result is `false`. */
function happen(event: Event, model: Model, sessions: Sessions<string>): boolean {
  const next = model.sessions.length;
  switch (event.kind) {
    case "root":
      if (next === MOST_SESSIONS) return false;
      sessions.addRoot(id(next), depthOf(next), "held");
      model.add({ id: id(next), depth: depthOf(next), status: "running" });
      return true;
    case "spawn": {
      const parent = model.sessions[event.parent];
      if (parent?.status !== "running" || model.grants.length === MOST_APPROVALS) return false;
      sessions.reserve(parent.id, model.grant(parent.id).jti);
      return true;
    }
    case "redeem": {
      const grant = model.grants[event.approval];
      if (!grant || (next === MOST_SESSIONS && !event.fails)) return false;
      const redemption = model.redeem(grant);
      if (sessions.redeem(grant.jti) !== redemption) throw new Error(`redeem is not ${redemption}`);
      if (redemption !== "redeemed" || event.fails) return true;
      if (model.find(grant.parent)?.status !== "running") return true;
      sessions.addChild(id(next), depthOf(next), "held", grant.parent, grant.jti);
      grant.taken = true;
      model.add({ id: id(next), depth: depthOf(next), parent: grant.parent, status: "running" });
      return true;
    }
    case "finish": {
      const session = model.sessions[event.session];
      if (!session) return false;
      // Which of them does not matter to any count: one of each.
      const outcome = event.session % 2 ? "complete" : "failed";
      sessions.finish(session.id, outcome);
      model.finish(session, outcome);
      return true;
    }
    case "clock":
      model.now += CLOCK_STEP_MS;
      return true;
    default:
      return event satisfies never;
  }
}

const numbers = (count: number) => Array.from({ length: count }, (_, number) => number);
const EVENTS: readonly Event[] = [
  { kind: "root" },
  ...numbers(MOST_SESSIONS).map((parent) => ({ kind: "spawn", parent }) as const),
  ...numbers(MOST_APPROVALS).flatMap((approval) => [
    { kind: "redeem", approval, fails: false } as const,
    { kind: "redeem", approval, fails: true } as const,
  ]),
  ...numbers(MOST_SESSIONS).map((session) => ({ kind: "finish", session }) as const),
  { kind: "clock" },
];

/** Replays a history; `undefined` if its last event could not happen. */
function replay(history: readonly Event[]): { model: Model; sessions: Sessions<string> } | undefined {
  const model = new Model();
  const sessions = new Sessions<string>(() => model.now);
  let isWhole = true;
  for (const event of history) isWhole = happen(event, model, sessions);
  return isWhole ? { model, sessions } : undefined;
}

test("no count differs from the model's in any history of up to seven events", () => {
  let histories = 0;
  const history: Event[] = [];
  const extend = (): void => {
    for (const event of EVENTS) {
      history.push(event);
      const happened = replay(history);
      if (happened) {
        histories++;
        const { model, sessions } = happened;
        // Equal texts are compared at once; what differs is shown with its history.
        const [real, right] = [seen(sessions, model), expected(model)];
        if (real !== right) expect({ history, seen: real }).toEqual({ history, seen: right });
        if (history.length < MOST_EVENTS) extend();
      }
      history.pop();
    }
  };
  extend();
  // No history was left out. No count is below zero or too high, because the model's counts never are.
  expect(histories).toBe(43_996);
});
