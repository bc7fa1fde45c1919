/** Ending children: SIGTERM, a grace, SIGKILL, reaped. */

import type { Clock } from "../clock.ts";
import type { ExitStatus } from "./exit-status.ts";

/** How long a child may take to wind down after SIGTERM. */
export const GRACE_MS = 5_000;
/** The same where this process itself was sent SIGTERM by its spawner, whose SIGKILL comes after those 5 seconds. */
export const HURRIED_GRACE_MS = 3_000;

/** What can be ended: a process that the launcher holds. */
export interface Endable {
  /** Settles once it has been reaped, and 1 s after SIGKILL at the latest. */
  readonly exited: Promise<ExitStatus>;
  signal(signal: "SIGTERM" | "SIGKILL"): void;
}

/**
 * Ends every one of them and comes back when all have been reaped, or cannot be: 1 s after SIGKILL at the latest. All are
 * signalled at once and share one grace; one that is gone already keeps the outcome it had.
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
