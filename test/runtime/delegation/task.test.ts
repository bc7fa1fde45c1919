/** A task and its delegations: called, waited for, cancelled, and whatever else happens at the same moment. */

import { describe, expect, test } from "bun:test";
import type { AlongsideWait, LaunchOutcome, LaunchRequest } from "../../../src/runtime/index.ts";
import { FINISHED, isSettled, type PlayedTask, playedTask, turns } from "./played.ts";
import { CLEAN, KILLED, type PlayedChild } from "./played-child.ts";

const never = new Promise<never>(() => {});
const silent = () => {};
const GIVEN_UP: LaunchOutcome = { kind: "failed", failure: { cause: "canceled", message: "given up" } };

/** A launch that goes on until it is given up; its process has started where it has an id. */
function launching(delegationId?: string) {
  return async (_: unknown, { signal, onStarted }: LaunchRequest): Promise<LaunchOutcome> => {
    if (delegationId) onStarted?.(delegationId);
    await new Promise<void>((stop) => signal?.addEventListener("abort", () => stop()));
    const started = delegationId ? { started: { delegationId, workdir: "/work" } } : {};
    return { kind: "failed", failure: { cause: "canceled", message: "given up", ...started } };
  };
}

/** A wait for something else that the test ends. */
function alongside(more: Partial<AlongsideWait> = {}): AlongsideWait {
  return {
    waiting: () => "waiting on call-member: 1 call(s) outstanding",
    continuing: () => undefined,
    done: never,
    ...more,
  };
}

/** Its child answers and goes. */
async function answered(played: PlayedTask, child: Awaited<ReturnType<PlayedTask["start"]>>): Promise<void> {
  child.writes();
  played.post(child);
  child.leave(CLEAN);
  await turns();
}

describe("a cancel", () => {
  test("between the end of an attempt and its wait takes effect, whatever else is waited for", async () => {
    const played = playedTask({ launch: launching() });
    const calling = played.call();
    const settling = played.task.settle(FINISHED, silent, alongside());
    await played.task.cancel();
    expect((await calling).kind).toBe("failed");
    expect(await isSettled(settling)).toBe(true);
    expect(await settling).toEqual({ kind: "done" });
  });

  test("takes effect before the end of an attempt, or while only something else is waited for", async () => {
    const played = playedTask();
    await played.task.cancel();
    expect(await isSettled(played.task.settle(FINISHED, silent, alongside()))).toBe(true);
    const other = playedTask();
    const settling = other.task.settle(FINISHED, silent, alongside());
    await turns();
    await other.task.cancel();
    expect(await isSettled(settling)).toBe(true);
  });

  test("that is repeated counts once: it returns the same residue and writes one line", async () => {
    const played = playedTask();
    const child = await played.start({ onSignal: () => {} });
    const [first, second] = [played.task.cancel(), played.task.cancel()];
    await turns();
    child.leave(KILLED);
    expect(await first).toEqual({ delegations: ["dlg_0"] });
    expect(await second).toEqual({ delegations: ["dlg_0"] });
    expect(await played.task.cancel()).toEqual({ delegations: ["dlg_0"] });
    expect(played.trace().filter(({ event }) => event === "task_canceled")).toMatchObject([
      { task_id: "tsk_1", delegations: ["dlg_0"] },
    ]);
  });

  test("lists children that are launching, being given their task, or running", async () => {
    const later = launching("dlg_9");
    const played = playedTask({
      deliver: async ({ delegationId, signal }) => {
        if (delegationId === "dlg_0") return { ok: true, value: "tsk_child" };
        await new Promise<void>((stop) => signal.addEventListener("abort", () => stop()));
        return { ok: false, fault: "the call was given up" };
      },
      launch: async (session, request) => {
        const next = [running, handed][launched++];
        return next ? { kind: "launched", child: next.launched } : later(session, request);
      },
    });
    let launched = 0;
    const running = played.child();
    const handed = played.child();
    const calls = [played.call(), played.call(), played.call()];
    await turns();
    const ids = ["dlg_0", "dlg_1", "dlg_9"];
    expect(played.task.inFlight()).toEqual(ids);
    expect(await played.task.cancel()).toEqual({ delegations: ids });
    expect((await Promise.all(calls)).map(({ kind }) => kind)).toEqual(["started", "failed", "failed"]);
    expect(played.trace().find(({ event }) => event === "task_canceled")).toMatchObject({ delegations: ids });
    expect(played.task.inFlight()).toEqual([]);
  });

  test("signals all children at once, and they share one grace period", async () => {
    const played = playedTask();
    const stubborn = {
      onSignal: (signal: string, child: { leave(status: typeof KILLED): void }) => {
        if (signal === "SIGKILL") child.leave(KILLED);
      },
    };
    const children = [
      await played.start(stubborn),
      await played.start(stubborn),
      await played.start(stubborn),
    ];
    const canceling = played.task.cancel();
    await turns();
    expect(children.map(({ signals }) => signals)).toEqual(children.map(() => ["SIGTERM"]));
    await played.clock.advance(4_999);
    expect(children.map(({ signals }) => signals)).toEqual(children.map(() => ["SIGTERM"]));
    await played.clock.advance(1);
    expect(await canceling).toEqual({ delegations: ["dlg_0", "dlg_1", "dlg_2"] });
    expect(children.map(({ signals }) => signals)).toEqual(children.map(() => ["SIGTERM", "SIGKILL"]));
    expect(played.clock.waiting()).toBe(0);
  });

  test("stops posts from being accepted, both while a child is being ended and afterwards", async () => {
    const played = playedTask();
    const child = await played.start({ onSignal: () => {} });
    const canceling = played.task.cancel();
    await turns();
    expect(played.post(child)).toMatchObject({
      error: { message: "delegation dlg_0 is being ended by this session; its launcher records the outcome" },
    });
    child.leave(CLEAN);
    await canceling;
    expect(played.post(child)).toMatchObject({
      error: { message: "no task in this session is waiting for delegation dlg_0" },
    });
  });
});

describe("two waits at the same time", () => {
  test("are one round: the second has nothing left to report", async () => {
    const played = playedTask();
    const child = await played.start();
    const [first, second] = [played.task.settle(FINISHED, silent), played.task.settle(FINISHED, silent)];
    await answered(played, child);
    expect(await first).toMatchObject({ kind: "continue", delegations: ["dlg_0"] });
    expect(await second).toEqual({ kind: "done" });
    expect(played.trace().filter(({ event }) => event === "task_continued")).toHaveLength(1);
  });

  test("end when the task ends in another way", async () => {
    const played = playedTask();
    await played.start();
    const waits = [played.task.settle(FINISHED, silent), played.task.settle(FINISHED, silent)];
    await turns();
    expect(await played.task.settle({ kind: "ended", exitStatus: "error" }, silent)).toEqual({
      kind: "done",
    });
    expect(await Promise.all(waits)).toEqual([{ kind: "done" }, { kind: "done" }]);
    expect(played.closes()).toMatchObject([{ outcome: "terminated" }]);
  });
});

describe("with host functions that fail", () => {
  const failing: [string, (status: string) => void][] = [
    [
      "throws",
      () => {
        throw new Error("stream closed");
      },
    ],
    [
      "rejects",
      async () => {
        throw new Error("stream closed");
      },
    ],
  ];
  test.each(failing)("no outcome is lost if reporting a status %s", async (_, emit) => {
    const played = playedTask();
    const children = [await played.start(), await played.start()];
    const settling = played.task.settle(FINISHED, emit);
    await turns();
    for (const child of children) await answered(played, child);
    expect(await settling).toMatchObject({ kind: "continue", delegations: ["dlg_0", "dlg_1"] });
    await turns();
    expect(played.diagnosed).toEqual(Array(3).fill("a status of a waiting task was not said: stream closed"));
    expect(played.task.inFlight()).toEqual([]);
  });

  test("no outcome is lost if any function of the other wait fails", async () => {
    const broken = () => {
      throw new Error("no members");
    };
    const played = playedTask();
    const child = await played.start();
    const other = { waiting: broken, continuing: broken, done: Promise.reject(new Error("no members")) };
    const said: string[] = [];
    const settling = played.task.settle(FINISHED, (status) => said.push(status), other);
    await turns();
    expect(played.task.inFlight()).toEqual(["dlg_0"]);
    await answered(played, child);
    expect(await settling).toMatchObject({ kind: "continue", delegations: ["dlg_0"] });
    expect(said).toEqual([
      "waiting on delegate-task: 1 delegation(s) outstanding",
      "continuing with 1 delegation outcome(s)",
    ]);
    expect(new Set(played.diagnosed)).toEqual(
      new Set(["a status of a waiting task was not said: no members"]),
    );
  });

  test("a host function that fails after a cancel does no harm", async () => {
    const played = playedTask();
    const done = Promise.withResolvers<void>();
    const settling = played.task.settle(FINISHED, silent, alongside({ done: done.promise }));
    await played.task.cancel();
    done.reject(new Error("no members"));
    expect(await settling).toEqual({ kind: "done" });
    await turns();
  });
});

test("each continuation has its line and returns what arrived since the last one", async () => {
  const played = playedTask();
  for (const round of [["dlg_0", "dlg_1"], ["dlg_2"]]) {
    const children = [];
    for (const _ of round) children.push(await played.start());
    const settling = played.task.settle(FINISHED, silent);
    for (const child of children.reverse()) await answered(played, child);
    const settled = await settling;
    if (settled.kind !== "continue") throw new Error(settled.kind);
    expect(settled.delegations).toEqual(round);
    expect([...settled.text.matchAll(/dlg_\d(?= to worker)/g)].map(([id]) => id)).toEqual(round);
  }
  expect(await played.task.settle(FINISHED, silent)).toEqual({ kind: "done" });
  expect(played.trace().filter(({ event }) => event === "task_continued")).toMatchObject([
    { task_id: "tsk_1", delegations: ["dlg_0", "dlg_1"] },
    { task_id: "tsk_1", delegations: ["dlg_2"] },
  ]);
});

describe("while something is still launching beside delegations that are outstanding", () => {
  const waiting = (count: number) => `waiting on delegate-task: ${count} delegation(s) outstanding`;

  /** Two delegations that are outstanding, and a call whose launch goes on until `arrive`. */
  async function beside() {
    const gate = Promise.withResolvers<LaunchOutcome>();
    const children: PlayedChild[] = [];
    const played = playedTask({
      launch: async (_, request) => {
        const child = children.shift();
        if (!child) {
          request.signal?.addEventListener("abort", () => gate.resolve(GIVEN_UP));
          return gate.promise;
        }
        child.born(0);
        request.onReported?.(child.launched);
        return { kind: "launched", child: child.launched };
      },
    });
    const [first, second, third] = [played.child(), played.child(), played.child()];
    children.push(first, second);
    await played.call();
    await played.call();
    const calling = played.call();
    const said: string[] = [];
    const settling = played.task.settle(FINISHED, (status) => said.push(status));
    await turns();
    return {
      played,
      said,
      settling,
      first,
      second,
      third,
      async arrive(outcome: LaunchOutcome = { kind: "launched", child: third.launched }) {
        third.born(0);
        gate.resolve(outcome);
        await calling;
        await turns();
      },
    };
  }

  test("the wait is said at once, at each close, and again once its child is one of them", async () => {
    const { played, said, settling, first, second, third, arrive } = await beside();
    expect(said).toEqual([waiting(2)]);
    await answered(played, first);
    expect(said).toEqual([waiting(2), waiting(1)]);
    await arrive();
    expect(said).toEqual([waiting(2), waiting(1), waiting(2)]);
    await answered(played, second);
    await answered(played, third);
    expect(await settling).toMatchObject({ delegations: ["dlg_0", "dlg_1", "dlg_2"] });
    expect(said.slice(3)).toEqual([waiting(1), "continuing with 3 delegation outcome(s)"]);
  });

  test("the same number is not said again", async () => {
    const { played, said, settling, first, second, arrive } = await beside();
    await answered(played, first);
    await arrive(GIVEN_UP);
    expect(said).toEqual([waiting(2), waiting(1)]);
    await answered(played, second);
    expect(await settling).toMatchObject({ delegations: ["dlg_0", "dlg_1"] });
    expect(said.slice(2)).toEqual(["continuing with 2 delegation outcome(s)"]);
  });

  test("nothing is said after a cancel", async () => {
    const { played, said, settling } = await beside();
    await played.task.cancel();
    expect(await settling).toEqual({ kind: "done" });
    expect(said).toEqual([waiting(2)]);
  });
});
