/** The child's side: a TypeScript capsule takes one task over A2A, answers it, and reports how it ended. */

import { setImmediate as turn } from "node:timers/promises";
import { messageOf } from "../../os-error.ts";
import { unlessAborted } from "../clock.ts";
import type { AfterTask } from "../manifest.ts";
import { endWithSpawner } from "../session/follow.ts";
import { announceReady, closeSession, type Session } from "../session/session.ts";
import type { DoorUrl } from "../wire.ts";
import {
  type ChildDoor,
  type ChildDoorOptions,
  closeTask,
  createTaskSlot,
  openChildDoor,
  type RunEnd,
  type TaskEnd,
} from "./child-door.ts";
import { reportOwnEnd } from "./own-end.ts";
import { leaveResult } from "./result-file.ts";
import { createTrace, type SessionExitStatus, traceSessionEnd, traceSessionStart } from "./trace.ts";

/** The task of a delegated capsule. */
export interface ReceivedTask {
  readonly taskId: string;
  readonly contextId: string;
  /** All the text that this capsule is given. */
  readonly text: string;
  /** Aborts when the task is cancelled or the session winds down. */
  readonly signal: AbortSignal;
}

/**
 * How long a cancelled task may take to return, including the end of its own children. The spawner's end leaves 20 s, and
 * after a signal by hand no SIGKILL follows.
 */
const WIND_DOWN_MS = 18_000;
/** The same after the spawner's SIGTERM, which leaves 5 s; or only 3 s, but the slot is given back before (`endWithSpawner`). */
const HURRIED_WIND_DOWN_MS = 4_000;

/** How long its report may wait for the spawner's answer once that has sent SIGTERM: the slot must be given back too. */
const HURRIED_POST_MS = 2_500;

/** How a delegated capsule serves its task. */
export interface ServeTaskOptions extends ChildDoorOptions {
  readonly run: (task: ReceivedTask) => Promise<TaskEnd>;
  /** `exit` ends the session with its task; `sleep` keeps it listening until it is ended. By default what the manifest says in `lifecycle.after_task`, or else `exit`. */
  readonly afterTask?: AfterTask;
  /** When it aborts, we wait for no task, and cancel a running one. The session ends once that has returned. */
  readonly signal?: AbortSignal;
  /** Called with the address of this capsule's door, before the capsule is ready. */
  readonly onListening?: (door: DoorUrl) => void;
}

const ENDED_FIRST: TaskEnd = { status: "error", detail: "the session was ended before its task was done" };

/**
 * Serves one task. It opens a door on a free loopback port, prints the readiness line, and takes the first message as
 * its task. It runs the task, writes the answer to `out/result.txt` in the records directory, reports, and retires. If
 * anything throws meanwhile, such as `onListening`, the session is closed as `failed`.
 *
 * @returns the exit status; call `process.exit` with it
 */
export async function serveTask(session: Session, options: ServeTaskOptions): Promise<number> {
  const cancel = new AbortController();
  const slot = createTaskSlot(cancel);
  const answered = Promise.withResolvers<void>();
  let door: ChildDoor | undefined;
  try {
    if (options.signal?.aborted) cancel.abort();
    options.signal?.addEventListener("abort", () => cancel.abort(), { once: true });
    door = openChildDoor(options, slot, () => void (slot.task() && answered.resolve()));
    options.onListening?.(door.url);
    return await serveAt(door.url, { session, options, slot, cancel, answered: answered.promise });
  } catch (error) {
    cancel.abort();
    // Only the session itself can give its slot back, and the program may go on without it.
    await closeSession(session, "failed");
    throw error;
  } finally {
    await door?.stop();
  }
}

interface Serving {
  readonly session: Session;
  readonly options: ServeTaskOptions;
  readonly slot: ReturnType<typeof createTaskSlot>;
  /** Aborts the task. */
  readonly cancel: AbortController;
  /** Settles once the parent was told that we have the task. */
  readonly answered: Promise<void>;
}

async function serveAt(door: DoorUrl, serving: Serving): Promise<number> {
  const { session, options, slot, cancel, answered } = serving;
  const finish = finisherOf(session);
  let running: Promise<RunEnd> | undefined;
  const trace = createTrace(session);
  let isEndedByProgram = options.signal?.aborted === true;
  const noteEnding = () => {
    isEndedByProgram = true;
  };
  // From the next turn on: a program may abort because its spawner has ended.
  options.signal?.addEventListener("abort", () => setImmediate(noteEnding), { once: true });
  traceSessionStart(session);
  endWithSpawner(session, {
    kind: "agent",
    recordSpawnerEnded() {
      // If its program is ending it already, its spawner has not cut it short.
      if (!isEndedByProgram) trace({ event: "spawner_ended" });
    },
    async windDown() {
      const isIdle = slot.task()?.state !== "TASK_STATE_WORKING";
      cancel.abort();
      const end = await (running && Promise.race([running, windDownOver(session)]));
      const isDone = isIdle || (end !== undefined && !end.canceled);
      return finish(end ?? ENDED_FIRST, isDone ? "ok" : "canceled");
    },
  });
  await announceReady(session, door, options.operatorToken);

  const task = await unlessAborted(options.signal, slot.taken);
  if (task === "aborted") return finish(ENDED_FIRST, "ok");
  // The parent must be told that we have the task before the task can end this process.
  await answered;
  await turn();
  const { id: taskId, contextId, text } = task;
  running = runTask(session, options.run, { taskId, contextId, text, signal: cancel.signal });
  const end = await running;
  closeTask(task, end);
  // A signal or the lifeline ends this wait; their wind-down then ends the process.
  if ((options.afterTask ?? session.manifest.afterTask) === "sleep")
    await unlessAborted(options.signal, new Promise<never>(() => {}));
  return finish(end, end.canceled ? "canceled" : "ok");
}

/** Reports and retires, only once: when the task ends or when the session ends, whichever comes first. */
function finisherOf(session: Session): (end: TaskEnd, exitStatus: SessionExitStatus) => Promise<number> {
  let finishing: Promise<number> | undefined;
  const { clock, hurry } = session;
  const late = new AbortController();
  hurry.signal.addEventListener("abort", () => clock.after(HURRIED_POST_MS, () => late.abort()));
  const finish = async ({ status, detail }: TaskEnd, exitStatus: SessionExitStatus) => {
    try {
      await reportOwnEnd(session, { status, detail, resultIn: session.directories.records }, late.signal);
      traceSessionEnd(session, exitStatus);
    } finally {
      await closeSession(session, status === "ok" ? "complete" : "failed");
    }
    return 0;
  };
  return (end, exitStatus) => {
    finishing ??= finish(end, exitStatus);
    return finishing;
  };
}

/** The spawner's SIGTERM may follow a signal that its whole process group was sent. */
export function windDownOver({ clock, hurry }: Pick<Session, "clock" | "hurry">): Promise<undefined> {
  return new Promise((resolve) => {
    const overAfter = (ms: number) => clock.after(ms, () => resolve(undefined));
    const hasten = () => overAfter(HURRIED_WIND_DOWN_MS);
    overAfter(WIND_DOWN_MS);
    if (hurry.signal.aborted) hasten();
    else hurry.signal.addEventListener("abort", hasten);
  });
}

const CANCELED: TaskEnd = { status: "error", detail: "the task was cancelled before it was done" };

/** Runs the task and leaves its answer. If it throws, the error is how it ended. A cancelled task is not started. */
async function runTask(
  session: Session,
  run: (task: ReceivedTask) => Promise<TaskEnd>,
  task: ReceivedTask,
): Promise<RunEnd> {
  const { signal } = task;
  try {
    const ran = signal.aborted ? CANCELED : readEnd(await run(task));
    const end: RunEnd = signal.aborted ? { ...CANCELED, ...ran, status: "error", canceled: true } : ran;
    if (end.answer === undefined) return end;
    const left = await leaveResult(session.directories.records.descriptor, end.answer);
    return left.ok ? end : { ...end, answer: undefined, status: "error", detail: left.fault };
  } catch (error) {
    const detail = messageOf(error);
    return { status: "error", detail, ...(signal.aborted && { canceled: true }) };
  }
}

/** How the run ended. A program in JavaScript may return anything, but its parent reads a status and texts. */
function readEnd(returned: unknown): TaskEnd {
  const { status, answer, detail } = (returned ?? {}) as Readonly<Record<string, unknown>>;
  const given = <Value>(value: Value) => value !== undefined && value !== null;
  const said = given(detail) ? [messageOf(detail)] : [];
  const failed = (what: string): TaskEnd => ({ status: "error", detail: [what, ...said].join(": ") });
  if (status !== "ok" && status !== "error") return failed("the task's run returned no status, ok or error");
  const isAnswer = typeof answer === "string" || answer instanceof Uint8Array;
  if (given(answer) && !isAnswer) return failed("the task's run returned an answer that is no text or bytes");
  return { status, ...(isAnswer && { answer }), ...(given(detail) && { detail: messageOf(detail) }) };
}
