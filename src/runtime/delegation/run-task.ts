/** Runs the one task of a delegated capsule and leaves its answer in the result file. */

import type { Session } from "../session/session.ts";
import { leaveResult } from "./result-place.ts";

/** The task of a delegated capsule. */
export interface ReceivedTask {
  readonly taskId: string;
  readonly contextId: string;
  /** All the text that this capsule is given. */
  readonly text: string;
  /** Aborts when the task is cancelled or the session winds down. */
  readonly signal: AbortSignal;
}

/** How the task ended. The answer becomes the result file. */
export interface TaskEnd {
  readonly status: "ok" | "error";
  readonly answer?: string | Uint8Array | undefined;
  readonly detail?: string;
}

export const CANCELED: TaskEnd = { status: "error", detail: "the task was cancelled before it was done" };

export interface RunEnd extends TaskEnd {
  /** It returned after it was cancelled, so it counts as canceled, whatever it returned. */
  readonly canceled?: true;
}

/** Runs the task and leaves its answer. If it throws, the error is how it ended. A cancelled task is not started. */
export async function runTask(
  session: Session,
  run: (task: ReceivedTask) => Promise<TaskEnd>,
  task: ReceivedTask,
): Promise<RunEnd> {
  const { signal } = task;
  try {
    const ran = signal.aborted ? CANCELED : await run(task);
    const end: RunEnd = signal.aborted ? { ...CANCELED, ...ran, status: "error", canceled: true } : ran;
    if (end.answer === undefined) return end;
    const left = await leaveResult(session.directories.records.descriptor, end.answer);
    return left.ok ? end : { ...end, answer: undefined, status: "error", detail: left.fault };
  } catch (error) {
    const detail = error instanceof Error ? error.message : String(error);
    return { status: "error", detail, ...(signal.aborted && { canceled: true }) };
  }
}
