/** Ends children: SIGTERM, some time to wind down, SIGKILL, then reaping. */

import type { Clock } from "../clock.ts";
import type { ExitStatus } from "./exit-status.ts";

/** How long a child may take to wind down after SIGTERM. */
export const GRACE_MS = 5_000;
/** The same when this process was itself sent SIGTERM by its spawner, which sends SIGKILL after 5 seconds. */
export const HURRIED_GRACE_MS = 3_000;

/** Something that can be ended: a process that the launcher holds. */
export interface Endable {
  /** Settles once it has been reaped, at the latest 1 s after SIGKILL. */
  readonly exited: Promise<ExitStatus>;
  signal(signal: "SIGTERM" | "SIGKILL"): void;
}

/**
 * Ends every one of them. Returns when all have been reaped, at the latest 1 s after SIGKILL. All are signalled at once
 * and share one grace period. A process that had already ended keeps its outcome.
 *
 * @param hurry a session's `hurry.signal`: once it has aborted, the grace is 3 s instead of 5
 */
export async function endAll(children: readonly Endable[], clock: Clock, hurry?: AbortSignal): Promise<void> {
  for (const child of children) child.signal("SIGTERM");
  const cancels: (() => void)[] = [];
  const killAfter = (ms: number) => {
    cancels.push(
      clock.after(ms, () => {
        for (const child of children) child.signal("SIGKILL");
      }),
    );
  };
  const hasten = () => killAfter(HURRIED_GRACE_MS);
  killAfter(GRACE_MS);
  if (hurry?.aborted) hasten();
  else hurry?.addEventListener("abort", hasten, { once: true });
  try {
    await Promise.all(children.map((child) => child.exited));
  } finally {
    hurry?.removeEventListener("abort", hasten);
    for (const cancel of cancels) cancel();
  }
}
