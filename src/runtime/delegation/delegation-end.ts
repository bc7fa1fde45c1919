/** How a delegation ended. The record, the trace and what the task is told all come from this one value. */

import { redactSaid } from "../redaction.ts";
import type { Secret } from "../secret.ts";
import { type CompletionRecord, cutDetail, type Report } from "./completion.ts";

export type DelegationEnd =
  /** Its child left its own record. That is the outcome, no matter how the child ended. */
  | { readonly kind: "reported"; readonly record: CompletionRecord }
  /** Its child ended by itself without a record. `how`: its exit, then the last lines of its standard error. */
  | { readonly kind: "crashed"; readonly how: string }
  /** Its launcher ended it. */
  | { readonly kind: "terminated"; readonly by: "task" | "backstop"; readonly reason: string }
  | {
      readonly kind: "terminated";
      readonly by: "deadline";
      readonly reason: string;
      readonly how: string;
    }
  /** Its child is gone, and neither its exit status nor its outcome is known. */
  | { readonly kind: "lost"; readonly why: string };

/** The complete detail for a child that the delegating task ended. */
export const ENDED_BY_PARENT = "the parent ended this delegation";

/** What to record about it; `undefined` if it is not known how it ended. */
export function reportOf(
  end: DelegationEnd,
  durationMs: number,
  secrets: readonly Secret[],
): Report | undefined {
  const byLauncher = (status: "crashed" | "terminated", detail: string): Report => ({
    status,
    durationMs,
    detail: cutDetail(redactSaid(detail, secrets)),
    reportedBy: "launcher",
  });
  switch (end.kind) {
    case "reported":
      return end.record;
    case "crashed":
      return byLauncher("crashed", end.how);
    case "terminated":
      return byLauncher("terminated", end.by === "deadline" ? `${end.reason}\n${end.how}` : ENDED_BY_PARENT);
    case "lost":
      return undefined;
    default:
      return end satisfies never;
  }
}

/** Why it ended this way, for the trace; `null` if the child reported its own end. */
export function reasonOf(end: DelegationEnd): string | null {
  switch (end.kind) {
    case "reported":
      return null;
    case "crashed":
      return end.how.split("\n")[0] ?? end.how;
    case "terminated":
      return end.reason;
    case "lost":
      return end.why;
    default:
      return end satisfies never;
  }
}
