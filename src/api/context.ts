/** What the four decisions are made from. Everything that touches the world comes in here. */

import type { Census } from "../census/census.ts";
import type { DecisionLog } from "../log/decision-log.ts";
import type { Limits } from "../referee/bounds.ts";
import type { Envelope } from "../referee/envelope.ts";
import type { ArtifactName } from "../registry/artifact-name.ts";
import type { Registry } from "../registry/registry.ts";
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
  /** Unix milliseconds; what an approval's expiry is compared with. */
  readonly wall: () => number;
}

/** Who asks. */
export interface Caller {
  /** The credential or approval it presented; an empty one was presented all the same. */
  readonly token: string | undefined;
  /** Whether it has closed its connection: then nobody would hear the answer. */
  hasLeft(): boolean;
}

/** An answer, or why there is none. */
export type Decision<Answer> =
  | { readonly ok: true; readonly answer: Answer }
  | { readonly ok: false; readonly refusal: Refusal };

export function refuse(refusal: Refusal): { readonly ok: false; readonly refusal: Refusal } {
  return { ok: false, refusal };
}

/** The machine ceiling: what this daemon admitted, and what it found running at startup that still runs. */
export function liveCapsules({ sessions, census }: Context): number {
  return sessions.live + census.count();
}

/** The same for a line of the log: slots in use, and slots that are left under the ceiling. */
export function slots(
  context: Context,
  used = liveCapsules(context),
): { readonly used: number; readonly free: number } {
  return { used, free: Math.max(0, context.limits.maxLiveCapsules - used) };
}

/** The running session that a credential names; absent, unverifiable and retired ones are told apart by nobody. */
export function callingSession(
  { authority, sessions }: Context,
  credential: string | undefined,
): RunningSession<Envelope> | undefined {
  const id = credential === undefined ? undefined : authority.verifyCredential(credential);
  return id === undefined ? undefined : sessions.running(id);
}
