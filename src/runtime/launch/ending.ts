/** Ending children: SIGTERM, a grace, SIGKILL, reaped. */

import type { Clock } from "../clock.ts";
import type { ExitStatus } from "./child-process.ts";

/** How long a child may take to wind down after SIGTERM. */
export const GRACE_MS = 5_000;

/** What can be ended: a process that the launcher holds. */
export interface Endable {
  readonly exited: Promise<ExitStatus>;
  signal(signal: "SIGTERM" | "SIGKILL"): void;
}

/**
 * Ends every one of them and comes back when all have been reaped. All are signalled at once and share one grace; one
 * that is gone already keeps the outcome it had.
 *
 * @param signal aborted: the grace is over
 */
export async function endAll(
  children: readonly Endable[],
  clock: Clock,
  signal?: AbortSignal,
): Promise<void> {
  for (const child of children) child.signal("SIGTERM");
  const kill = () => {
    for (const child of children) child.signal("SIGKILL");
  };
  const cancel = clock.after(GRACE_MS, kill);
  signal?.addEventListener("abort", kill);
  if (signal?.aborted) kill();
  await Promise.all(children.map((child) => child.exited));
  cancel();
  signal?.removeEventListener("abort", kill);
}
