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
 */
export async function endAll(children: readonly Endable[], clock: Clock): Promise<void> {
  for (const child of children) child.signal("SIGTERM");
  const cancel = clock.after(GRACE_MS, () => {
    for (const child of children) child.signal("SIGKILL");
  });
  await Promise.all(children.map((child) => child.exited));
  cancel();
}
