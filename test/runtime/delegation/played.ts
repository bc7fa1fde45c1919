/** A task on a clock that is moved by hand, and children whose processes are played; their folders are real. */

import { existsSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import {
  type CompletionDoor,
  createCompletionDoor,
  createTaskDelegations,
  type DelegatingSession,
  type LaunchRequest,
  type TaskDelegations,
  type TaskDelegationsOptions,
} from "../../../src/runtime/index.ts";
import { holdDirectory } from "../../../src/runtime/tree/held.ts";
import { type ManualClock, manualClock } from "../../kit/manual-clock.ts";
import { coordinates } from "../parent.ts";
import { hold, scratch } from "./kit.ts";
import { PLAYED_DOOR, type Play, type PlayedChild, playedChild } from "./played-child.ts";

/** The child watch of a played session, in seconds. */
export const WATCH_SECS = 20;
/** Its attempt ended, and there is a turn left to read outcomes in. */
export const FINISHED = { kind: "finished", turnsLeft: 1 } as const;

export interface PlayedTask {
  readonly root: string;
  readonly clock: ManualClock;
  readonly door: CompletionDoor;
  readonly task: TaskDelegations;
  /** What the operator was told. */
  readonly diagnosed: string[];
  /** The requests of its launches. */
  readonly asked: LaunchRequest[];
  /** A child that the next call will find. */
  child(play?: Play): PlayedChild;
  /** Calls the tool for a new child. */
  start(play?: Play): Promise<PlayedChild>;
  call(): ReturnType<TaskDelegations["call"]>;
  /** A completion of the child's, at the door. */
  post(child: PlayedChild): ReturnType<CompletionDoor["receive"]>;
  trace(): Record<string, unknown>[];
  /** How its delegations were closed, in that order. */
  closes(): { outcome: unknown; reason: unknown }[];
  remove(): void;
}

/** What is left out of `more` plays: launches find the next child, deliveries succeed. */
export function playedTask(
  more: Partial<TaskDelegationsOptions> & {
    readonly environment?: Record<string, string>;
    readonly deadlineSecs?: number;
  } = {},
): PlayedTask {
  const { environment = {}, deadlineSecs = WATCH_SECS, ...options } = more;
  const root = scratch();
  mkdirSync(join(root, "runtime"), { recursive: true });
  const clock = manualClock();
  const runtime = hold(join(root, "runtime"));
  const parentRecords = hold(root);
  const door = createCompletionDoor("ses_parent");
  const diagnosed: string[] = [];
  const session = {
    id: "ses_parent",
    clock,
    hurry: new AbortController(),
    environment,
    manifest: { delegationDeadlineSecs: deadlineSecs },
    directories: { records: { path: root, descriptor: parentRecords }, runtime: { descriptor: runtime } },
    delegateTask: { capsules: new Map([["worker", coordinates("local/worker").name]]) },
    diagnose: (line: string) => diagnosed.push(line),
  } as unknown as DelegatingSession;
  const children: PlayedChild[] = [];
  const asked: LaunchRequest[] = [];
  const task = createTaskDelegations({
    session,
    door,
    doorUrl: PLAYED_DOOR,
    taskId: "tsk_1",
    contextId: "ctx_1",
    launch: async (_, request) => {
      const next = children[asked.push(request) - 1];
      if (!next) throw new Error("no child is left");
      next.born(clock.elapsed());
      request.onReported?.(next.launched);
      return { kind: "launched", child: next.launched };
    },
    deliver: async () => ({ ok: true, value: "tsk_child" }),
    ...options,
  });
  const call = () => task.call({ capsule: "worker", version: "0.1.0", task: "x" });
  const trace = () => {
    const path = join(root, "trace.jsonl");
    if (!existsSync(path)) return [];
    return readFileSync(path, "utf8")
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
  };
  const add = (play: Play = {}) => {
    const next = playedChild(root, children.length, play);
    children.push(next);
    return next;
  };
  return {
    root,
    clock,
    door,
    task,
    diagnosed,
    asked,
    child: add,
    async start(play) {
      const next = add(play);
      await call();
      return next;
    },
    call,
    post: ({ id }) =>
      door.receive({ addressedSession: "ses_parent", method: "SendMessage", delegationId: id }),
    trace,
    closes: () =>
      trace()
        .filter(({ event }) => event === "delegation")
        .map(({ outcome, reason }) => ({ outcome, reason })),
    remove() {
      holdDirectory(root, runtime).close();
      holdDirectory(root, parentRecords).close();
      rmSync(root, { recursive: true });
    },
  };
}

/** Lets everything run that does not wait for a timer. */
export async function turns(): Promise<void> {
  for (let turn = 0; turn < 5; turn++) await new Promise((next) => setImmediate(next));
}

/** Whether a promise has settled by now. */
export async function isSettled(promise: Promise<unknown>): Promise<boolean> {
  let settled = false;
  const note = () => {
    settled = true;
  };
  promise.then(note, note);
  await turns();
  return settled;
}

/** The round, waited for while the clock moves. */
export async function settled({ task, clock }: PlayedTask): Promise<string> {
  let text: string | undefined;
  void task
    .settle(FINISHED, () => {})
    .then((end) => {
      text = end.kind === "continue" ? end.text : end.kind;
    });
  for (let second = 0; second < 100 && text === undefined; second++) {
    await turns();
    await clock.advance(1_000);
  }
  if (text === undefined) throw new Error("it did not settle");
  return text;
}
