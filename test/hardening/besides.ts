import type { Caller } from "../kit/host.ts";

/** Asks for the daemon's health until the work is done; `others` is how often it was answered before. */
export async function besides<Result>(
  caller: Caller,
  work: Promise<Result>,
): Promise<{ readonly result: Result; readonly others: number }> {
  let isDone = false;
  const watched = work.finally(() => {
    isDone = true;
  });
  let others = 0;
  while (!isDone) {
    const { status } = await caller.send("/health");
    if (status !== 200) throw new Error(`GET /health answered ${status}`);
    if (!isDone) others++;
  }
  return { result: await watched, others };
}

/**
 * More than this is an answer that came in the middle of the work: one may have been given before it was taken, and one
 * that comes right after the work's own may be seen first.
 */
export const AROUND = 2;
