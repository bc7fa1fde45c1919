/**
 * What a session store keeps, as the engine counts objects by their kind. A program of its own, since in a test's process
 * other tests leave objects behind. It writes one JSON object: for each history, how many more of each kind there are.
 */

import { heapStats } from "bun:jsc";
import { type SessionId, Sessions } from "../../src/sessions/sessions.ts";
import { APPROVAL_LIFETIME_MS } from "../../src/tokens/authority.ts";

const id = (number: number) => `ses_${number}` as SessionId;

function finished(count: number): Sessions<string> {
  const sessions = new Sessions<string>(() => 0);
  for (let number = 0; number < count; number++) {
    sessions.addRoot(id(number), 3, "held");
    sessions.finish(id(number), "complete");
  }
  return sessions;
}

/** Parents that end before their only child does. */
function orphans(pairs: number): Sessions<string> {
  const sessions = new Sessions<string>(() => 0);
  for (let number = 0; number < 2 * pairs; number += 2) {
    sessions.addRoot(id(number), 3, "held");
    sessions.reserve(id(number), String(number));
    sessions.redeem(String(number));
    sessions.addChild(id(number + 1), 2, "held", id(number), String(number));
    sessions.finish(id(number), "complete");
    sessions.finish(id(number + 1), "complete");
  }
  return sessions;
}

/** Approvals of twenty seconds, one each 10 ms; then `laterMs` pass and the store is asked. */
function reserved(laterMs: number): Sessions<string> {
  let now = 0;
  const sessions = new Sessions<string>(() => now);
  sessions.addRoot(id(0), 3, "held");
  for (let number = 0; number <= 2000; number++) {
    now = number * 10;
    sessions.reserve(id(0), String(number));
  }
  now += laterMs;
  if (laterMs > 0 && sessions.live !== 1) throw new Error("an approval outlived its minute");
  return sessions;
}

const HISTORIES: Readonly<Record<string, () => Sessions<string>>> = {
  "768 finished": () => finished(768),
  "769 finished": () => finished(769),
  "5376 finished": () => finished(5376),
  "5377 finished": () => finished(5377),
  "1000 orphans": () => orphans(1000),
  "2001 reserved": () => reserved(0),
  "2001 expired": () => reserved(APPROVAL_LIFETIME_MS),
};

function counts(): Readonly<Record<string, number>> {
  Bun.gc(true);
  return heapStats().objectTypeCounts;
}

/** Kept to the end: then counts only rise. */
const kept: Sessions<string>[] = [];
const added: Record<string, Record<string, number>> = {};
for (const [history, work] of Object.entries(HISTORIES)) {
  const before = counts();
  kept.push(work());
  const after = counts();
  added[history] = Object.fromEntries(
    ["Map", "Object", "Uint32Array"].map((kind) => [kind, (after[kind] ?? 0) - (before[kind] ?? 0)]),
  );
}
process.stdout.write(JSON.stringify(added));
if (kept.length === 0) throw new Error("nothing was kept");
