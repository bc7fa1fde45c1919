/** Ending a child whose outcome is posted to nobody, and what is recorded of it. */

import { setImmediate as turn } from "node:timers/promises";
import type { Report } from "./completion.ts";
import { reportCompletion } from "./report.ts";
import {
  durationOf,
  ENDED_BY_PARENT,
  endChild,
  howItEnded,
  recordOf,
  type Watching,
} from "./watched-child.ts";

type Held = Pick<Watching, "session" | "child" | "identity">;

export interface UnpostedEnd {
  /**
   * What becomes of a record that the child writes while it is being ended. `replaced`: it is in the middle of its task,
   * and whatever it says of itself, the record is its launcher's (roost-api, "A child ends with its parent"). `kept`: its
   * task was over.
   */
  readonly own: "replaced" | "kept";
  /** Why it is ended, where that is more than that its parent wants it; the exit status is added. */
  readonly why?: string;
}

/**
 * Ends the child, and records it as `terminated`. One that was gone already keeps the record that it left, and has
 * `crashed` where it left none.
 */
export async function endUnposted(held: Held, { own, why }: UnpostedEnd): Promise<void> {
  const { session, child, identity } = held;
  const byItself = await Promise.race([child.exited.then(() => true), turn(false)]);
  const left = recordOf(held);
  await endChild(held);
  const { records } = child;
  if (!records.ok || left || (own === "kept" && recordOf(held))) return;
  const durationMs = durationOf(held);
  const explained = why === undefined ? ENDED_BY_PARENT : `${why}\n${await howItEnded(child)}`;
  const report: Report = byItself
    ? { status: "crashed", durationMs, detail: await howItEnded(child), reportedBy: "launcher" }
    : { status: "terminated", durationMs, detail: explained, reportedBy: "launcher" };
  const { diagnose } = session;
  await reportCompletion({ identity, report, records: records.value.descriptor, diagnose });
}

/** Ends a child that never came to hold its task. */
export async function abandon(watching: Watching): Promise<void> {
  const { door, child, identity } = watching;
  door.ending(identity.delegationId);
  await endUnposted(watching, { own: "replaced" });
  door.forget(identity.delegationId);
  child.release();
}
