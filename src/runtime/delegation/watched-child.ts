/** A child that holds its task, or is to be given it: how long it may run, what it has recorded, how it ended. */

import { endAll } from "../launch/ending.ts";
import { describeExit } from "../launch/exit-status.ts";
import type { LaunchedChild } from "../launch/outcome.ts";
import type { RegisteredSession } from "../session/session.ts";
import type { CompletionRecord } from "./completion.ts";
import type { CompletionDoor } from "./door.ts";
import type { DelegationIdentity } from "./identity.ts";
import { readRecord } from "./record-file.ts";

/** After its completion arrived, a child has this long to exit. */
export const EXIT_AFTER_COMPLETION_MS = 5_000;
/** The whole detail of a child that the delegating task ended. */
export const ENDED_BY_PARENT = "the parent ended this delegation";

export interface Watching {
  readonly session: RegisteredSession;
  readonly door: CompletionDoor;
  readonly child: LaunchedChild;
  readonly identity: DelegationIdentity;
  /** The child watch, whole seconds from readiness. */
  readonly watchSecs: number;
}

/** What is left of the child watch, in milliseconds; it counts from readiness. */
export function watchLeftMs({ session, child, watchSecs }: Watching): number {
  return Math.max(0, watchSecs * 1000 - (session.clock.elapsed() - child.readyAt));
}

/** Why a child was ended at its deadline. */
export function pastDeadline(secs: number): string {
  return `still running at its deadline of ${secs}s (lifecycle.delegation_deadline_secs, MURMUR_DELEGATION_TIMEOUT_SECS)`;
}

/** Ends the child; one that cannot be reaped holds up nobody for longer than the grace and a second. */
export function endChild({ session, child }: Pick<Watching, "session" | "child">): Promise<void> {
  return endAll([child], session.clock, session.hurry.signal);
}

type Measured = Pick<Watching, "session" | "child">;

/** How long the child has run since it was ready, in milliseconds. */
export function durationOf({ session, child }: Measured): number {
  return Math.round(session.clock.elapsed() - child.readyAt);
}

/** The record that the child left, where it is one of this delegation. */
export function recordOf(watching: Measured & Pick<Watching, "identity">): CompletionRecord | undefined {
  const { child, identity } = watching;
  return child.records.ok
    ? readRecord(child.records.value.descriptor, identity, durationOf(watching), child.secrets)
    : undefined;
}

/** The exit status, and the last lines that the child wrote to its standard error. */
export async function howItEnded(child: LaunchedChild): Promise<string> {
  const lines = await child.lastStderrLines();
  return [describeExit(await child.exited), ...lines].join("\n");
}
