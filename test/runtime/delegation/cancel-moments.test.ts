/** A delegation that is cancelled at any point is answered once, closed once, and leaves nothing behind. */

import { describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { runCapsuleStep } from "../../../src/runtime/delegation/capsule-step.ts";
import type { DelegateTaskResult, DelegatingSession, Settlement } from "../../../src/runtime/index.ts";
import { atEachMoment, observed, type Run, watchedSession } from "../observed.ts";
import { coordinates } from "../parent.ts";
import { processesOf } from "../world.ts";
import { type Closed, closings } from "./closings.ts";
import { sharedHost } from "./shared-host.ts";
import { PRELUDE, records, says, writeChild } from "./shell-child.ts";
import { sharedShellDoor } from "./shell-door.ts";

const host = sharedHost();
const door = sharedShellDoor();
const { closedOnce, runningChildren, standing } = closings(host);

/** The session, its children scripts that answer once the file `go-<delegation id>` is in the home. */
function withShellChild() {
  const binary = writeChild(
    host().world.home,
    "answers",
    ...PRELUDE,
    says(`127.0.0.1:${door().port}`),
    'until [ -e "$HOME/go" ]; do sleep 0.02; done',
    'printf "an answer" > "$records/out/result.txt"',
    records("ok"),
  );
  return { ...host().session, environment: { ...host().session.environment, MURMUR_MUR_BINARY: binary } };
}

interface Played {
  readonly called: DelegateTaskResult;
  readonly settled: Settlement | undefined;
  /** What the cancel named, where it came. */
  readonly named: readonly string[] | undefined;
}

/** One delegation of one task from its call to its close. */
async function play(
  { touched, arm }: Run,
  session: DelegatingSession,
  by: "cancel" | "signal",
): Promise<Played> {
  const go = join(host().world.home, "go");
  const task = host().task({
    session: watchedSession(session, touched),
    door: observed(host().door, touched, "door."),
  });
  const giveUp = new AbortController();
  let canceling: ReturnType<typeof task.cancel> | undefined;
  arm(() => {
    if (by === "signal") giveUp.abort();
    else canceling = task.cancel();
  });
  const called = await task.call({ capsule: "worker", version: "0.1.0", task: `when:${go}` }, giveUp.signal);
  writeFileSync(go, "");
  const finished = { kind: "finished", turnsLeft: 1 } as const;
  const settled = called.kind === "started" ? await task.settle(finished, () => {}) : undefined;
  // A child's pipe that is read to its end only now is no longer a moment of the delegation.
  arm(() => {});
  const named = await canceling;
  expect(task.inFlight()).toEqual([]);
  await Bun.file(go).unlink();
  return { called, settled, named: named?.delegations };
}

/** What is true of a call that failed, of one whose delegation was ended, and of one that got its answer. */
function agrees(played: Played, closed: Closed) {
  const { called, settled, named } = played;
  const { trace, start, close, record } = closed;
  const events = (name: string) => trace.filter(({ event }) => event === name);
  const id = close.delegation_id;
  expect(events("task_canceled").map(({ delegations }) => delegations)).toEqual(named ? [named] : []);
  for (const one of named ?? []) expect(one).toBe(String(id));
  expect(events("task_continued")).toHaveLength(settled?.kind === "continue" ? 1 : 0);
  const fields = JSON.parse(called.text);
  expect(fields.delegation_id).toBe(id ?? "");
  expect(fields.session_id).toBe(close.child_session_id ?? "");
  expect(start?.child_session_id ?? null).toBe(close.child_session_id as null);
  const received = host().door.receive({
    addressedSession: host().session.id,
    method: "SendMessage",
    delegationId: String(id),
  });
  if (called.kind === "started") {
    expect(fields.status).toBe("started");
    expect(["ok", "terminated"]).toContain(String(close.outcome));
    expect(record.status).toBe(close.outcome);
    expect("result" in received).toBe(close.outcome === "ok");
    if (settled?.kind === "continue") expect(settled.delegations).toEqual([String(id)]);
    if (close.outcome === "terminated") expect(close.reason).toBe("the delegating task was cancelled");
    return;
  }
  expect(called.kind).toBe("failed");
  expect(fields).toMatchObject({ status: "failed", output: close.reason });
  expect(fields.child_workdir).toBeUndefined();
  expect(fields.output).toContain("given up");
  expect(close.outcome).toBe("failed");
  expect(record?.status).toBe(start && "terminated");
  expect(received).toHaveProperty("error.message", `no task in this session is waiting for delegation ${id}`);
}

describe("at each moment", () => {
  // A real worker is ready, deregisters and posts by itself; a shell script costs a tenth of it.
  test.each<[string, () => DelegatingSession, number]>([
    ["its child a script", withShellChild, 1],
    ["its child a real worker", () => host().session, 5],
  ])("of a call and its wait the task is cancelled, %s", async (_, open, stride) => {
    const session = open();
    await play({ touched: () => {}, arm: () => {} }, session, "cancel");
    host().trace();
    const came: string[] = [];
    const moments = await atEachMoment(
      async (run) => {
        const before = await standing();
        const played = await play(run, session, "cancel");
        if (session === host().session) expect(processesOf(session.id)).toEqual([]);
        expect(await runningChildren()).toEqual([]);
        const closed = await closedOnce(before);
        agrees(played, closed);
        // Of a worker that was ready no slot is left, and of another its reservation, which lasts a minute.
        expect(closed.slots).toBeLessThanOrEqual(closed.start && session === host().session ? 0 : 1);
        came.push(String(closed.close.outcome));
      },
      { stride },
    );
    // Once it has its task, a child that is already gone keeps its outcome: how soon it goes differs from run to run.
    expect(came.slice(came.findIndex((outcome) => outcome !== "failed"))).not.toContain("failed");
    expect([came[0], came.at(-1)]).toEqual(["failed", "ok"]);
    if (stride > 1) return;
    // Some runs ended it between these steps, and each of the steps was a moment of its own.
    expect(came).toContain("terminated");
    for (const step of [
      "registration.client.spawn has settled",
      "store.resolveChild has settled",
      "door.await",
    ]) {
      expect(moments).toContain(step);
    }
  });

  test("of a call it is aborted, and during the wait its delegation continues", async () => {
    const session = withShellChild();
    const came: string[] = [];
    await atEachMoment(async (run) => {
      const before = await standing();
      const played = await play(run, session, "signal");
      const closed = await closedOnce(before);
      agrees(played, closed);
      came.push(String(closed.close.outcome));
      expect(played.settled?.kind).toBe(played.called.kind === "started" ? "continue" : undefined);
    });
    expect(came).toEqual([...came].sort());
    expect(new Set(came)).toEqual(new Set(["failed", "ok"]));
  });

  test("of a plan's step its task is cancelled", async () => {
    const session = withShellChild();
    const came: string[] = [];
    const moments = await atEachMoment(async ({ touched, arm }) => {
      const before = await standing();
      const cancel = new AbortController();
      arm(() => cancel.abort());
      const step = {
        ...coordinates("local/worker"),
        task: "x",
        contextId: "ctx_1",
        signal: cancel.signal,
      };
      const { kind, text } = await runCapsuleStep(watchedSession(session, touched), step);
      const { start, close, record, trace } = await closedOnce(before);
      expect(trace).toHaveLength(start ? 2 : 1);
      expect(close).toMatchObject({ outcome: kind, reason: kind === "completed" ? null : text });
      expect(text).toContain(kind === "completed" ? "an answer" : "the delegating task was cancelled");
      // If it had completed, nothing says that it was ended.
      expect(record?.status).toBe(kind === "completed" ? undefined : start && "terminated");
      came.push(kind);
    });
    expect(moments).toContain("registration.client.spawn has settled");
    expect(came).toEqual([...came].sort());
    expect(new Set(came)).toEqual(new Set(["canceled", "completed"]));
  });
});
