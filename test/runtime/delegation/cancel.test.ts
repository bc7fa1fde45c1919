/** A delegation that is cancelled at any point is answered once, closed once, and leaves nothing behind. */

import { beforeEach, describe, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { runCapsuleStep } from "../../../src/runtime/delegation/capsule-step.ts";
import type { DelegateTaskResult, DelegatingSession, Settlement } from "../../../src/runtime/index.ts";
import { noMoreFilesThan, openFiles } from "../../kit/folders.ts";
import { manualClock } from "../../kit/manual-clock.ts";
import { rawServer } from "../../kit/raw-server.ts";
import { shared } from "../../kit/shared.ts";
import { until } from "../../kit/until.ts";
import { atEachMoment, observed, type Run, watchedSession } from "../observed.ts";
import { coordinates } from "../parent.ts";
import { processesOf } from "../world.ts";
import { sharedHost } from "./shared-host.ts";
import { PRELUDE, records, STAY, says, writeChild } from "./shell-child.ts";

const host = sharedHost();
/** The door of the children that are shell scripts, which this process serves for them. */
const door = shared((undo) => {
  const fetch = async (request: Request) => answer(await request.text());
  return undo.adopt(Bun.serve({ hostname: "127.0.0.1", port: 0, fetch }), (server) => server.stop(true));
});
beforeEach(() => {
  if (existsSync(join(host().session.directories.records.path, "trace.jsonl"))) host().trace();
});

function answer(request: string): Response {
  const task = { id: "tsk_1", status: { state: "TASK_STATE_WORKING" } };
  const artifacts = [{ parts: [{ text: "an answer" }] }];
  const completed = { ...task, status: { state: "TASK_STATE_COMPLETED" }, artifacts };
  return Response.json({ result: request.includes("SendMessage") ? { task } : completed });
}

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

const liveChildren = async () => {
  const status = await host().session.registration.client.status(host().session.id);
  if (status.kind !== "granted") throw new Error(JSON.stringify(status));
  return status.value.live_children;
};

/** The sessions of children that the daemon takes for running. */
async function runningChildren(): Promise<string[]> {
  const { id, registration } = host().session;
  const ids = readdirSync(join(host().world.home, ".murmur/sessions")).filter((name) => name !== id);
  const answers = await Promise.all(ids.map((name) => registration.client.status(name)));
  return ids.filter((_, at) => {
    const answer = answers[at];
    return answer?.kind === "granted" && answer.value.status === "running";
  });
}

/** What existed before a run, and what its trace says afterwards. */
async function standing() {
  return { descriptors: openFiles(), slots: await liveChildren() };
}

/** The trace of one delegation and the record that it points to; no process, descriptor or slot of it is left. */
async function closedOnce(before: Awaited<ReturnType<typeof standing>>) {
  const trace = host().trace();
  const [start, ...moreStarts] = trace.filter(({ event }) => event === "delegation_start");
  const [close, ...moreCloses] = trace.filter(({ event }) => event === "delegation");
  if (!close) throw new Error("it was not closed");
  expect([...moreStarts, ...moreCloses]).toEqual([]);
  // A process that a shell script has just forked keeps the script's command line for a moment.
  await until("every process is gone", () => processesOf(host().session.id).length === 0);
  await noMoreFilesThan(before.descriptors);
  // A reservation that no child came to redeem lasts a minute; of a child that was ready nothing is left.
  const slots = (await liveChildren()) - before.slots;
  const shell = start && String(start.child_workdir);
  const session = String(start?.child_session_id);
  const places = ["shell", String(shell)].map((path) =>
    join(host().world.home, ".murmur/records", path, session, "completion.json"),
  );
  const path = places.find((place) => existsSync(place));
  const record = path === undefined ? undefined : JSON.parse(readFileSync(path, "utf8"));
  return { trace, start, close, record, slots };
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
function agrees(played: Played, closed: Awaited<ReturnType<typeof closedOnce>>) {
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
    const order = ["failed", "terminated", "ok"];
    expect(came).toEqual([...came].sort((one, other) => order.indexOf(one) - order.indexOf(other)));
    expect([came[0], came.at(-1)]).toEqual(["failed", "ok"]);
    if (stride > 1) return;
    // Some runs ended it between these steps, and each of the steps was a moment of its own.
    expect(came).toContain("terminated");
    for (const step of ["registration.client.spawn has settled", "store.resolve has settled", "door.await"]) {
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

describe("while its child", () => {
  const call = { capsule: "worker", version: "0.1.0", task: "x" };

  /** The session on a clock that only the test moves, its children a script of these lines behind a door. */
  function onManualClock(
    port: number,
    lines: readonly string[],
    more: Readonly<Record<string, string>> = {},
  ) {
    const binary = writeChild(
      host().world.home,
      "held",
      ...PRELUDE,
      ...lines,
      says(`127.0.0.1:${port}`),
      STAY,
    );
    const environment = { ...host().session.environment, MURMUR_MUR_BINARY: binary, ...more };
    const clock = manualClock(Date.now());
    return { clock, session: { ...host().session, environment, clock } };
  }

  test.each(["call", "step"])(
    "does not answer the request with its task, a %s waits for nothing",
    async (kind) => {
      const before = await standing();
      const held = await rawServer(() => {});
      const { clock, session } = onManualClock(held.port, []);
      const giveUp = new AbortController();
      const task = host().task({ session });
      const step = { ...coordinates("local/worker"), task: "x", contextId: "ctx_1", signal: giveUp.signal };
      const running = kind === "call" ? task.call(call) : runCapsuleStep(session, step);
      await until("its task is on the way", () => held.received().includes("SendMessage"));
      giveUp.abort();
      if (kind === "call") await task.cancel();
      expect(await running).toMatchObject({ kind: kind === "call" ? "failed" : "canceled" });
      await held.close();
      const { start, record } = await closedOnce(before);
      expect(start).toBeDefined();
      expect(record).toMatchObject({ status: "terminated", detail: "the parent ended this delegation" });
      expect(clock.waiting()).toBe(0);
    },
  );

  test("is being ended at its deadline, it is ended only once and for that reason", async () => {
    const before = await standing();
    const bound = { MURMUR_DELEGATION_TIMEOUT_SECS: "7" };
    const { clock, session } = onManualClock(door().port ?? 0, ["trap '' TERM"], bound);
    const task = host().task({ session });
    expect((await task.call(call)).kind).toBe("started");
    const settling = task.settle({ kind: "finished", turnsLeft: 1 }, () => {});
    await clock.advance(7_000);
    const [id = ""] = task.inFlight();
    const canceling = task.cancel();
    let done = false;
    void settling.then(() => {
      done = true;
    });
    await clock.advance(4_999);
    // A task that continues from here has no child left.
    expect(done).toBe(false);
    expect(processesOf(session.id)).toHaveLength(1);
    await clock.advance(1);
    expect(await canceling).toEqual({ delegations: [id] });
    expect(await settling).toEqual({ kind: "done" });
    const { close, record } = await closedOnce(before);
    expect(close.reason).toStartWith("still running at its deadline of 7s");
    expect(record).toMatchObject({ status: "terminated", reported_by: "launcher" });
    expect(clock.waiting()).toBe(0);
  });
});

test("a cancelled task waits for nothing, whatever else it has delegated", async () => {
  const task = host().task();
  expect(await task.cancel()).toEqual({ delegations: [] });
  const never = {
    waiting: () => "waiting",
    continuing: () => "continuing",
    done: new Promise<void>(() => {}),
  };
  const said: string[] = [];
  const finished = { kind: "finished", turnsLeft: 1 } as const;
  expect(await task.settle(finished, (status) => said.push(status), never)).toEqual({ kind: "done" });
  expect(said).toEqual([]);
});
