/** Ends a child whose outcome is not posted, and records its end. */

import { setImmediate as turn } from "node:timers/promises";
import type { LaunchedChild } from "../launch/outcome.ts";
import { type DelegationEnd, ENDED_BY_PARENT, reportOf } from "./delegation-end.ts";
import { reportCompletion } from "./report.ts";
import { durationOf, endChild, howItEnded, recordOf, type Watching } from "./watched-child.ts";

/** A child that reported itself ready, and its delegation. */
type StartedChild = Pick<Watching, "session" | "child" | "identity">;

export interface UnpostedEnd {
  /**
   * What happens to a record that the child writes while it is being ended. `replaced`: the child is in the middle of
   * its task, so the launcher's record replaces it (API page, "A child ends with its parent"). `kept`: the child's task
   * was over, so its record stays.
   */
  readonly own: "replaced" | "kept";
  /** Why it is ended, if there is more to say than that its parent ended it. The exit status is added. */
  readonly why?: string;
}

/**
 * Ends the child and records it as `terminated`. A child that had exited already keeps its own record; if it left none,
 * it is recorded as `crashed`.
 */
export async function endUnposted(started: StartedChild, { own, why }: UnpostedEnd): Promise<void> {
  const { session, child, identity } = started;
  const byItself = await Promise.race([child.exited.then(() => true), turn(false)]);
  const left = recordOf(started);
  await endChild(started);
  const { records } = child;
  if (!records.ok || left || (own === "kept" && recordOf(started))) return;
  const durationMs = durationOf(started);
  const report = reportOf(await endFor(child, byItself, why), durationMs, child.secrets);
  const { diagnose } = session;
  if (report) await reportCompletion({ identity, report, records: records.value.descriptor, diagnose });
}

async function endFor(child: LaunchedChild, byItself: boolean, why?: string): Promise<DelegationEnd> {
  if (byItself) return { kind: "crashed", how: await howItEnded(child) };
  return why === undefined
    ? { kind: "terminated", by: "task", reason: ENDED_BY_PARENT }
    : { kind: "terminated", by: "deadline", reason: why, how: await howItEnded(child) };
}

/** Ends a child that did not accept its task. */
export async function abandon(watching: Watching): Promise<void> {
  const { door, child, identity } = watching;
  door.ending(identity.delegationId);
  await endUnposted(watching, { own: "replaced" });
  door.forget(identity.delegationId);
  child.release();
}
