import { expect, test } from "bun:test";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import {
  createCompletionDoor,
  createTaskDelegations,
  type DelegatingSession,
  type LaunchedChild,
  parseDoorUrl,
} from "../../../src/runtime/index.ts";
import type { ExitStatus } from "../../../src/runtime/launch/child-process.ts";
import { holdDirectory } from "../../../src/runtime/tree/held.ts";
import { manualClock } from "../../kit/manual-clock.ts";
import { coordinates } from "../parent.ts";
import { openDescriptors } from "../world.ts";
import { hold, scratch } from "./kit.ts";

/** What one child does by itself, at a second of its life. */
type Deed = "answer" | "answer-and-stay" | "die" | "half-a-record" | "forged-post" | "fail-to-post";
interface Behaviour {
  readonly deeds: readonly { readonly at: number; readonly deed: Deed }[];
  /** What SIGTERM comes to. */
  readonly onTerm: "exits" | "ignores" | "answers-late";
}

const WATCH_SECS = 20;
const deed = fc.constantFrom<Deed>(
  "answer",
  "answer-and-stay",
  "die",
  "half-a-record",
  "forged-post",
  "fail-to-post",
);
const behaviour: fc.Arbitrary<Behaviour> = fc.record({
  deeds: fc.array(fc.record({ at: fc.nat(30), deed }), { maxLength: 3 }),
  onTerm: fc.constantFrom("exits" as const, "ignores" as const, "answers-late" as const),
});
const base = scratch();
const door_url = parseDoorUrl("http://127.0.0.1:9");
if (!door_url) throw new Error("no door");
const doorUrl = door_url;
let runs = 0;

test("a round, whatever its children and its task do, closes every delegation exactly once", async () => {
  const round = fc.record({
    children: fc.array(behaviour, { minLength: 1, maxLength: 8 }),
    cancelAt: fc.option(fc.nat(40), { nil: undefined }),
  });
  await fc.assert(
    fc.asyncProperty(round, async ({ children, cancelAt }) => {
      await play(children, cancelAt);
    }),
    { numRuns: 120, endOnFailure: true },
  );
}, 60_000);

async function play(children: readonly Behaviour[], cancelAt: number | undefined): Promise<void> {
  const before = openDescriptors();
  const root = join(base, String(runs++));
  mkdirSync(join(root, "runtime"), { recursive: true });
  const clock = manualClock();
  const runtime = hold(join(root, "runtime"));
  const door = createCompletionDoor("ses_parent");
  const session = {
    id: "ses_parent",
    clock,
    environment: {},
    manifest: { delegationDeadlineSecs: WATCH_SECS },
    directories: { records: { path: root }, runtime: { descriptor: runtime } },
    delegateTask: { capsules: new Map([["worker", coordinates("local/worker").name]]) },
    diagnose: () => {},
  } as unknown as DelegatingSession;
  const living = children.map((plan, index) => child(root, index, plan));
  let next = 0;
  const task = createTaskDelegations({
    session,
    door,
    doorUrl,
    taskId: "tsk_1",
    contextId: "ctx_1",
    launch: async () => {
      const made = living[next++];
      if (!made) throw new Error("no child is left");
      return { kind: "launched", child: made.child };
    },
    deliver: async () => ({ ok: true, value: "tsk_child" }),
  });
  for (const _ of living) await task.call({ capsule: "worker", version: "0.1.0", task: "x" });
  const said: string[] = [];
  let settled: Awaited<ReturnType<typeof task.settle>> | undefined;
  void task
    .settle({ kind: "finished", turnsLeft: 1 }, (status) => said.push(status))
    .then((end) => {
      settled = end;
    });
  let canceling: Promise<unknown> | undefined;
  for (let second = 0; second < 70 && !(settled && task.inFlight().length === 0); second++) {
    for (const one of living)
      one.live(second, (id) =>
        door.receive({ addressedSession: "ses_parent", method: "SendMessage", delegationId: id }),
      );
    if (second === cancelAt && !settled) canceling = task.cancel();
    await clock.advance(1_000);
    for (let turns = 0; turns < 5; turns++) await new Promise((turn) => setImmediate(turn));
  }
  await canceling;

  if (!settled) throw new Error("the round did not settle");
  const ids = living.map(({ child }) => child.delegationId);
  const lines = readFileSync(join(root, "trace.jsonl"), "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
  for (const one of living) {
    const { delegationId } = one.child;
    expect(one.gone()).toBe(true);
    const record = JSON.parse(readFileSync(join(root, delegationId, "completion.json"), "utf8"));
    const closed = lines.filter((line) => line.event === "delegation" && line.delegation_id === delegationId);
    expect(record.delegation_id).toBe(delegationId);
    expect(closed.map((line) => line.outcome)).toEqual([record.status]);
  }
  if (canceling) {
    expect(settled).toEqual({ kind: "done" });
  } else {
    if (settled.kind !== "continue") throw new Error("nothing to go on with");
    expect(settled.delegations).toEqual(ids);
    const heads = [...settled.text.matchAll(/^\[delegate-task\] delegation \S+/gm)].map(([head]) => head);
    expect(heads).toEqual(ids.map((id) => `[delegate-task] delegation ${id}`));
    const counts = said.map((status) => Number(/\d+/.exec(status)?.[0]));
    expect(counts).toEqual([...ids.map((_, index) => ids.length - index), ids.length]);
  }
  expect(clock.waiting()).toBe(0);
  holdDirectory(root, runtime).close();
  rmSync(root, { recursive: true });
  expect(openDescriptors()).toBeLessThanOrEqual(before);
}

/** A child whose process is played: its records directory is real. */
function child(root: string, index: number, plan: Behaviour) {
  const delegationId = `dlg_${index}`;
  const path = join(root, delegationId);
  mkdirSync(path);
  const exit = Promise.withResolvers<ExitStatus>();
  let gone = false;
  const leave = (status: ExitStatus) => {
    gone = true;
    exit.resolve(status);
  };
  const record = (delivered: boolean) =>
    writeFileSync(
      join(path, "completion.json"),
      JSON.stringify({
        delegation_id: delegationId,
        session_id: `ses_${index}`,
        status: "ok",
        duration_ms: 1,
        delivered,
      }),
    );
  const workdir = holdDirectory(path, hold(path));
  const records = holdDirectory(path, hold(path));
  const launched: LaunchedChild = {
    ...coordinates("local/worker"),
    delegationId,
    sessionId: `ses_${index}`,
    door: doorUrl,
    operatorToken: undefined,
    workdir,
    records: { ok: true, value: records },
    copy: undefined,
    pid: 0,
    readyAt: 0,
    exited: exit.promise,
    lastStderrLines: async () => ["a last line"],
    signal(signal) {
      if (gone) return;
      if (signal === "SIGKILL") return leave({ kind: "signaled", signal, number: 9 });
      if (plan.onTerm === "ignores") return;
      if (plan.onTerm === "answers-late") record(false);
      leave({ kind: "exited", status: 0 });
    },
    release() {
      workdir.close();
      records.close();
    },
  };
  return {
    child: launched,
    gone: () => gone,
    live(second: number, post: (id: string) => unknown) {
      for (const { at, deed } of plan.deeds) {
        if (at !== second || gone) continue;
        if (deed === "forged-post") post(delegationId);
        if (deed === "half-a-record") writeFileSync(join(path, "completion.json"), '{"delegation_id"');
        if (deed === "answer" || deed === "answer-and-stay") {
          record(true);
          post(delegationId);
        }
        if (deed === "fail-to-post") record(false);
        if (deed === "answer" || deed === "fail-to-post") leave({ kind: "exited", status: 0 });
        if (deed === "die") leave({ kind: "signaled", signal: "SIGKILL", number: 9 });
      }
    },
  };
}
