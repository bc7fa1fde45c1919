/** A child that has its task, or will get it: how long it may run, what it recorded, how it ended. */

import { describeExit, endAll } from "../launch/held-process.ts";
import type { LaunchedChild } from "../launch/outcome.ts";
import type { RegisteredSession } from "../session/session.ts";
import type { CompletionRecord } from "./completion.ts";
import type { CompletionDoor } from "./door.ts";
import type { DelegationIdentity } from "./identity.ts";
import { readRecord } from "./record-file.ts";

/** How long a child has to exit after its completion arrived. */
export const EXIT_AFTER_COMPLETION_MS = 5_000;

export interface Watching {
  readonly session: RegisteredSession;
  readonly door: CompletionDoor;
  readonly child: LaunchedChild;
  readonly identity: DelegationIdentity;
  /** The child watch, whole seconds from readiness. */
  readonly watchSecs: number;
}

/** The time left in the child watch, in milliseconds. The watch starts at readiness. */
export function watchLeftMs({ session, child, watchSecs }: Watching): number {
  return Math.max(0, watchSecs * 1000 - (session.clock.elapsed() - child.readyAt));
}

/** Why a child was ended at its deadline. */
export function pastDeadline(secs: number): string {
  return `still running at its deadline of ${secs}s (lifecycle.delegation_deadline_secs, MURMUR_DELEGATION_TIMEOUT_SECS)`;
}

/** Ends the child. If it cannot be reaped, the wait stops one second after the grace. */
export function endChild({ session, child }: Pick<Watching, "session" | "child">): Promise<void> {
  return endAll([child], session.clock, session.hurry.signal);
}

type Measured = Pick<Watching, "session" | "child">;

/** How long the child has run since it was ready, in milliseconds. */
export function durationOf({ session, child }: Measured): number {
  return Math.round(session.clock.elapsed() - child.readyAt);
}

/** The record that the child left, if it belongs to this delegation. */
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
