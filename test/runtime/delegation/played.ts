/** A task on a clock that is moved by hand, and children whose processes are played; their folders are real. */

import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  type CompletionDoor,
  createCompletionDoor,
  createTaskDelegations,
  type DelegatingSession,
  type LaunchedChild,
  type LaunchRequest,
  parseDoorUrl,
  type TaskDelegations,
  type TaskDelegationsOptions,
} from "../../../src/runtime/index.ts";
import type { ExitStatus } from "../../../src/runtime/launch/held-process.ts";
import { holdDirectory } from "../../../src/runtime/tree/held.ts";
import { type ManualClock, manualClock } from "../../kit/manual-clock.ts";
import { coordinates } from "../parent.ts";
import { hold, scratch } from "./kit.ts";

/** The child watch of a played session, in seconds. */
export const WATCH_SECS = 20;
/** Its attempt ended, and there is a turn left to read outcomes in. */
export const FINISHED = { kind: "finished", turnsLeft: 1 } as const;
export const CLEAN: ExitStatus = { kind: "exited", status: 0 };
export const KILLED: ExitStatus = { kind: "signaled", signal: "SIGKILL", number: 9 };

const parsed = parseDoorUrl("http://127.0.0.1:9");
if (!parsed) throw new Error("no door");
const doorUrl = parsed;

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
    doorUrl,
    taskId: "tsk_1",
    contextId: "ctx_1",
    launch: async (_, request) => {
      const next = children[asked.push(request) - 1];
      if (!next) throw new Error("no child is left");
      next.born(clock.elapsed());
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

/** How a child differs from one that goes at SIGTERM. */
export interface Play {
  /** What a signal comes to; SIGKILL too, where it is given. */
  readonly onSignal?: (signal: "SIGTERM" | "SIGKILL", child: PlayedChild) => void;
  readonly launched?: Partial<LaunchedChild>;
}

export interface PlayedChild {
  readonly id: string;
  readonly launched: LaunchedChild;
  /** Its records directory. */
  readonly path: string;
  /** The signals that reached it. */
  readonly signals: string[];
  born(at: number): void;
  /** Its process ends. */
  leave(status: ExitStatus): void;
  gone(): boolean;
  released(): boolean;
  /** Writes its record, `more` in the place of what a valid one says. */
  writes(more?: Readonly<Record<string, unknown>>): void;
  answers(text: string): void;
  record(): Record<string, unknown>;
}

function playedChild(root: string, index: number, { onSignal, launched: more = {} }: Play): PlayedChild {
  const id = `dlg_${index}`;
  const sessionId = `ses_${index}`;
  const path = join(root, id);
  mkdirSync(path);
  const exit = Promise.withResolvers<ExitStatus>();
  const workdir = holdDirectory(path, hold(path));
  const records = holdDirectory(path, hold(path));
  let gone = false;
  let released = false;
  let readyAt = 0;
  const signals: string[] = [];
  const child: PlayedChild = {
    id,
    path,
    signals,
    launched: {
      ...coordinates("local/worker"),
      delegationId: id,
      sessionId,
      door: doorUrl,
      operatorToken: undefined,
      secrets: [],
      workdir,
      records: { ok: true, value: records },
      copy: undefined,
      pid: 0,
      get readyAt() {
        return readyAt;
      },
      exited: exit.promise,
      lastStderrLines: async () => ["a last line"],
      signal(signal) {
        if (gone) return;
        signals.push(signal);
        if (onSignal) onSignal(signal, child);
        else child.leave(signal === "SIGKILL" ? KILLED : CLEAN);
      },
      release() {
        released = true;
        workdir.close();
        records.close();
      },
      [Symbol.dispose]: () => child.launched.release(),
      ...more,
    },
    born(at) {
      readyAt = at;
    },
    leave(status) {
      gone = true;
      exit.resolve(status);
    },
    gone: () => gone,
    released: () => released,
    writes: (fields = {}) =>
      writeFileSync(
        join(path, "completion.json"),
        JSON.stringify({
          delegation_id: id,
          session_id: sessionId,
          status: "ok",
          duration_ms: 1,
          delivered: true,
          ...fields,
        }),
      ),
    answers(text) {
      mkdirSync(join(path, "out"), { recursive: true });
      writeFileSync(join(path, "out", "result.txt"), text);
    },
    record: () => JSON.parse(readFileSync(join(path, "completion.json"), "utf8")),
  };
  return child;
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
