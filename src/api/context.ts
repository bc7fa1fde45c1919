/** Everything the four decisions depend on (state, files, clock and log), and what they ask of it in common. */

import type { Census } from "../census/census.ts";
import type { DecisionLog } from "../log/decision-log.ts";
import type { Limits } from "../referee/bounds.ts";
import type { Envelope } from "../referee/envelope.ts";
import type { ArtifactName } from "../registry/artifact-name.ts";
import type { Registry } from "../registry/registry.ts";
import type { Result } from "../result.ts";
import type { RunningSession, Sessions } from "../sessions/sessions.ts";
import type { Authority } from "../tokens/authority.ts";
import type { Refusal } from "./refusals.ts";

export interface Context {
  readonly limits: Limits;
  /** Names that may register without an approval. */
  readonly spawnAllow: ReadonlySet<ArtifactName>;
  readonly authority: Authority;
  readonly sessions: Sessions<Envelope>;
  readonly registry: Registry<Envelope>;
  readonly census: Census;
  readonly log: DecisionLog;
  /** Unix milliseconds. An approval's expiry is compared with this clock. */
  readonly wall: () => number;
}

/** Who sent a request. */
export interface Caller {
  /** The credential or approval in its header. An empty header counts as presented. */
  readonly token: string | undefined;
  /** Whether it has closed its connection, so that no answer can reach it. */
  hasLeft(): boolean;
}

/** An answer, or the refusal. */
export type Decision<Answer> = Result<Answer, Refusal>;

/** The running session that a credential names. Absent, invalid and retired credentials all give `undefined`. */
export function callingSession(
  { authority, sessions }: Context,
  credential: string | undefined,
): RunningSession<Envelope> | undefined {
  const id = credential === undefined ? undefined : authority.verifyCredential(credential);
  return id === undefined ? undefined : sessions.running(id);
}

/** The figure the machine ceiling limits: what this daemon admitted, plus what it found at startup and is still running. */
export function liveCapsules({ sessions, census }: Context): number {
  return sessions.live + census.count();
}

/** The same figure for a log line: slots in use, and slots left under the ceiling. */
export function slots(
  context: Context,
  used = liveCapsules(context),
): { readonly used: number; readonly free: number } {
  return { used, free: Math.max(0, context.limits.maxLiveCapsules - used) };
}
