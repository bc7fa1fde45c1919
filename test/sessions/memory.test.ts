/** What a session store keeps: objects are counted by their kind, as the engine knows them. */

import { heapStats } from "bun:jsc";
import { expect, test } from "bun:test";
import { type SessionId, Sessions } from "../../src/sessions/sessions.ts";
import { APPROVAL_LIFETIME_MS } from "../../src/tokens/authority.ts";

const id = (number: number) => `ses_${number}` as SessionId;

/** Nothing made here is let go of: then counts only rise. */
const held: Sessions<string>[] = [];

function counts(): Readonly<Record<string, number>> {
  Bun.gc(true);
  return heapStats().objectTypeCounts;
}

/** How many objects of a kind there are more than before `work`. */
function added(work: () => Sessions<string>): (kind: string) => number {
  const before = counts();
  held.push(work());
  const after = counts();
  return (kind) => (after[kind] ?? 0) - (before[kind] ?? 0);
}

function finished(count: number): Sessions<string> {
  const sessions = new Sessions<string>(() => 0);
  for (let number = 0; number < count; number++) {
    sessions.addRoot(id(number), 3, "held");
    sessions.finish(id(number), "complete");
  }
  return sessions;
}

test("sessions that have ended take no objects, and tables that double", () => {
  // Three quarters of 1,024; of 2,048 and 4,096 besides.
  for (const [count, tables] of [
    [768, 1],
    [769, 2],
    [5376, 3],
    [5377, 4],
  ] as const) {
    const more = added(() => finished(count));
    expect(more("Uint32Array")).toBe(tables);
    expect(more("Object")).toBeLessThan(100);
  }
});

test("a session that ended before its children takes none once the last of them has ended", () => {
  const more = added(() => {
    const sessions = new Sessions<string>(() => 0);
    for (let number = 0; number < 2000; number += 2) {
      sessions.addRoot(id(number), 3, "held");
      sessions.reserve(id(number), String(number));
      sessions.redeem(String(number));
      sessions.addChild(id(number + 1), 2, "held", id(number), String(number));
      sessions.finish(id(number), "complete");
      sessions.finish(id(number + 1), "complete");
    }
    return sessions;
  });
  // Each approval stays for its minute, and who it is counted for.
  expect(more("Object")).toBeLessThan(2100);
});

test("approvals are kept together, those of some seconds each, and forgotten together", () => {
  let now = 0;
  const reserve = (sessions: Sessions<string>) => {
    sessions.addRoot(id(0), 3, "held");
    for (let number = 0; number <= 2000; number++) {
      now = number * 10;
      sessions.reserve(id(0), String(number));
    }
    return sessions;
  };
  const kept = added(() => reserve(new Sessions<string>(() => now)));
  // One for each five seconds that begin, the last at twenty, and that of the sessions.
  expect(kept("Map")).toBe(6);
  expect(kept("Object")).toBeGreaterThan(1990);
  const forgotten = added(() => {
    now = 0;
    const sessions = reserve(new Sessions<string>(() => now));
    now += APPROVAL_LIFETIME_MS;
    expect(sessions.live).toBe(1);
    return sessions;
  });
  expect(forgotten("Map")).toBe(1);
  expect(forgotten("Object")).toBeLessThan(100);
});
