/** What the four decisions are made from. Everything that touches the world comes in here. */

import type { Census } from "../census/census.ts";
import type { DecisionLog } from "../log/decision-log.ts";
import type { Limits } from "../referee/bounds.ts";
import type { Envelope } from "../referee/envelope.ts";
import {
  type ArtifactName,
  type Coordinates,
  parseArtifactName,
  parseArtifactVersion,
} from "../registry/artifact-name.ts";
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
export function slots(context: Context): { readonly used: number; readonly free: number } {
  const used = liveCapsules(context);
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

/** A body's `name` and `version`, parsed once; afterwards they are never looked at again. */
export function parseCoordinates(body: {
  readonly name: string;
  readonly version: string;
}): Decision<Coordinates> {
  const name = parseArtifactName(body.name);
  if (name === undefined) {
    return refuse({
      kind: "bad-body",
      what: "'name' must be a capsule full name, <scope>/<name>, each part 1 to 100 characters of a-z, 0-9 and -",
    });
  }
  const version = parseArtifactVersion(body.version);
  if (version === undefined) {
    return refuse({
      kind: "bad-body",
      what: "'version' must be 1 to 128 characters without slashes or control characters, and not . or ..",
    });
  }
  return { ok: true, answer: { name, version } };
}
