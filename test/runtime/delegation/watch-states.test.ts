/** Every state that a watched delegation can reach, and the state that follows after each event. */

import { expect, test } from "bun:test";
import type { CompletionRecord } from "../../../src/runtime/delegation/completion.ts";
import {
  next,
  type Step,
  WATCHING,
  type WatchEvent,
  type WatchState,
} from "../../../src/runtime/delegation/watch-states.ts";

const RECORD: CompletionRecord = { status: "ok", durationMs: 1, reportedBy: "child", delivered: true };
/** The same child's, written later. */
const LATER: CompletionRecord = { ...RECORD, status: "error" };
const SPOILT: CompletionRecord = { ...RECORD, delivered: false };

const none = { left: undefined };
const unread = { left: undefined, unread: "no descriptor" };
/** Each event, without a record of the child's own, with one, and with one that cannot be read, where that matters. */
const EVENTS = {
  exited: { kind: "exited", ...none },
  "exited, lost": { kind: "exited", lost: "lost", ...none },
  "exited, record": { kind: "exited", left: RECORD },
  "exited, lost, record": { kind: "exited", lost: "lost", left: RECORD },
  "exited, unread": { kind: "exited", ...unread },
  arrived: { kind: "arrived", ...none },
  overdue: { kind: "overdue", ...none },
  "overdue, record": { kind: "overdue", left: RECORD },
  "overdue, unread": { kind: "overdue", ...unread },
  task: { kind: "task", reason: "its task ended", ...none },
  "task, record": { kind: "task", reason: "its task ended", left: RECORD },
  "task, unread": { kind: "task", reason: "its task ended", ...unread },
  deadline: { kind: "deadline", reason: "too long", ...none },
  "deadline, record": { kind: "deadline", reason: "too long", left: RECORD },
  "deadline, unread": { kind: "deadline", reason: "too long", ...unread },
  ended: { kind: "ended", ...none },
  "ended, record": { kind: "ended", left: LATER },
  "ended, unread": { kind: "ended", ...unread },
  explained: { kind: "explained", how: "status 1\nwords", ...none },
  "explained, record": { kind: "explained", how: "status 1\nwords", left: LATER },
  backstop: { kind: "backstop", reason: "no outcome", ...none },
  "backstop, record": { kind: "backstop", reason: "no outcome", left: LATER },
  "backstop, unread": { kind: "backstop", reason: "no outcome", ...unread },
} as const satisfies Record<string, WatchEvent>;
type EventName = keyof typeof EVENTS;

const STATES = {
  watching: WATCHING,
  "watching, posted": { kind: "watching", posted: true },
  leaving: { kind: "leaving" },
  "ending, reported": { kind: "ending", cause: { by: "report", record: RECORD } },
  "ending by task": { kind: "ending", cause: { by: "task", reason: "its task ended" } },
  "ending at deadline": { kind: "ending", cause: { by: "deadline", reason: "too long" } },
  "ending by task, unclear": {
    kind: "ending",
    cause: { by: "task", reason: "its task ended", unclear: true },
  },
  "ending at deadline, unclear": {
    kind: "ending",
    cause: { by: "deadline", reason: "too long", unclear: true },
  },
  "ending at backstop": { kind: "ending", cause: { by: "backstop", reason: "no outcome" } },
  "ending at backstop, unclear": {
    kind: "ending",
    cause: { by: "backstop", reason: "no outcome", unclear: true },
  },
  "explaining a crash": { kind: "explaining" },
  "explaining its deadline": { kind: "explaining", reason: "too long" },
  reported: { kind: "over", end: { kind: "reported", record: RECORD } },
  "reported, written later": { kind: "over", end: { kind: "reported", record: LATER } },
  "reported, spoilt": { kind: "over", end: { kind: "reported", record: SPOILT } },
  crashed: { kind: "over", end: { kind: "crashed", how: "status 1\nwords" } },
  lost: { kind: "over", end: { kind: "lost", why: "lost" } },
  unread: { kind: "over", end: { kind: "unread", why: "no descriptor" } },
  "unread, ended by task": {
    kind: "over",
    end: { kind: "unread", why: "no descriptor", reason: "its task ended" },
  },
  "unread, ended at deadline": {
    kind: "over",
    end: { kind: "unread", why: "no descriptor", reason: "too long" },
  },
  "unread, ended at backstop": {
    kind: "over",
    end: { kind: "unread", why: "no descriptor", reason: "no outcome" },
  },
  "terminated by task": { kind: "over", end: { kind: "terminated", by: "task", reason: "its task ended" } },
  "terminated at deadline": {
    kind: "over",
    end: { kind: "terminated", by: "deadline", reason: "too long", how: "status 1\nwords" },
  },
  "terminated at backstop": {
    kind: "over",
    end: { kind: "terminated", by: "backstop", reason: "no outcome" },
  },
} as const satisfies Record<string, WatchState>;
type StateName = keyof typeof STATES;

const END = ["refuse-completions", "end-child"];
const AT_BACKSTOP = ["ending at backstop", "refuse-completions", "end-child-in-time"] as const;
const backstop: Row = {
  backstop: AT_BACKSTOP,
  "backstop, record": AT_BACKSTOP,
  "backstop, unread": AT_BACKSTOP,
};
/** It stays open whether there is a record. */
const STILL_UNCLEAR = ["ending at backstop, unclear", ...AT_BACKSTOP.slice(1)] as const;
const unclearBackstop: Row = {
  backstop: STILL_UNCLEAR,
  "backstop, record": STILL_UNCLEAR,
  "backstop, unread": STILL_UNCLEAR,
};

/** The state after each event, and what is to be done. An event that is left out changes nothing. */
type Row = { readonly [event in EventName]?: readonly [StateName, ...string[]] };

const exits: Row = {
  exited: ["explaining a crash", "explain"],
  "exited, lost": ["lost"],
  "exited, record": ["reported"],
  "exited, lost, record": ["reported"],
  "exited, unread": ["unread"],
};
const ends: Row = {
  task: ["ending by task", ...END],
  deadline: ["ending at deadline", ...END],
};
/** A completion arrived before: if there is a record, it is the outcome. */
const reports: Row = {
  "task, record": ["ending, reported", "end-child"],
  "deadline, record": ["ending, reported", "end-child"],
  "task, unread": ["ending by task, unclear", "end-child"],
  "deadline, unread": ["ending at deadline, unclear", "end-child"],
};

const TABLE: Partial<Record<StateName, Row>> = {
  watching: {
    ...exits,
    ...ends,
    ...backstop,
    arrived: ["leaving", "await-exit"],
    "task, record": ["ending by task", ...END],
    "deadline, record": ["ending at deadline", ...END],
    "task, unread": ["ending by task", ...END],
    "deadline, unread": ["ending at deadline", ...END],
  },
  "watching, posted": { ...exits, ...ends, ...reports, ...backstop, arrived: ["leaving", "await-exit"] },
  leaving: {
    ...exits,
    ...ends,
    ...reports,
    ...backstop,
    overdue: ["watching, posted"],
    "overdue, unread": ["watching, posted"],
    "overdue, record": ["ending, reported", "end-child"],
  },
  "ending, reported": {
    ended: ["reported, spoilt"],
    "ended, record": ["reported, written later"],
    "ended, unread": ["reported"],
    backstop: ["reported, spoilt"],
    "backstop, record": ["reported, written later"],
    "backstop, unread": ["reported"],
  },
  "ending by task": {
    ...backstop,
    ended: ["terminated by task"],
    "ended, record": ["terminated by task"],
    "ended, unread": ["terminated by task"],
  },
  "ending by task, unclear": {
    ...unclearBackstop,
    ended: ["terminated by task"],
    "ended, record": ["reported, written later"],
    "ended, unread": ["unread, ended by task"],
  },
  "ending at deadline, unclear": {
    ...unclearBackstop,
    ended: ["explaining its deadline", "explain"],
    "ended, record": ["reported, written later"],
    "ended, unread": ["unread, ended at deadline"],
  },
  "ending at deadline": {
    ...backstop,
    ended: ["explaining its deadline", "explain"],
    "ended, record": ["explaining its deadline", "explain"],
    "ended, unread": ["explaining its deadline", "explain"],
  },
  "ending at backstop": {
    ...backstop,
    ended: ["terminated at backstop"],
    "ended, record": ["terminated at backstop"],
    "ended, unread": ["terminated at backstop"],
  },
  "ending at backstop, unclear": {
    ...unclearBackstop,
    ended: ["terminated at backstop"],
    "ended, record": ["reported, written later"],
    "ended, unread": ["unread, ended at backstop"],
  },
  "explaining a crash": { ...backstop, explained: ["crashed"], "explained, record": ["crashed"] },
  "explaining its deadline": {
    ...backstop,
    explained: ["terminated at deadline"],
    "explained, record": ["terminated at deadline"],
  },
};

const stateNames = Object.keys(STATES) as StateName[];
const eventNames = Object.keys(EVENTS) as EventName[];

function nameOf(state: WatchState): StateName {
  const name = stateNames.find((known) => Bun.deepEquals(STATES[known], state, true));
  if (!name) throw new Error(`no such state: ${JSON.stringify(state)}`);
  return name;
}

test.each(stateNames)("each event leads to the right state from the state %s", (name) => {
  const came = eventNames.map((event): [EventName, ...string[]] => {
    const step: Step = next(STATES[name], EVENTS[event]);
    return [event, nameOf(step.state), ...step.effects];
  });
  expect(came).toEqual(eventNames.map((event) => [event, ...(TABLE[name]?.[event] ?? [name])]));
});

test("exactly these states can be reached", () => {
  const reached = new Set<StateName>([nameOf(WATCHING)]);
  for (const name of reached) {
    for (const event of eventNames) reached.add(nameOf(next(STATES[name], EVENTS[event]).state));
  }
  expect([...reached].sort()).toEqual([...stateNames].sort());
});

test("every state leads to the end once the backstop has passed and the child was ended in time", () => {
  for (const name of stateNames) {
    const atBackstop = next(STATES[name], EVENTS.backstop);
    expect(next(atBackstop.state, EVENTS.ended).state.kind).toBe("over");
  }
});
