/** `POST /spawn`: may this session start that capsule? */

import { type LogFields, loggedCapsule, loggedSentence, tokenId } from "../log/fields.ts";
import { type Excess, knownExcesses } from "../referee/axes.ts";
import { boundReached, type Limits, type Standing } from "../referee/bounds.ts";
import type { Envelope } from "../referee/envelope.ts";
import type { Coordinates } from "../registry/artifact-name.ts";
import type { Artifact, Resolution } from "../registry/registry.ts";
import { fault, ok } from "../result.ts";
import type { RunningSession } from "../sessions/sessions.ts";
import { type Caller, type Context, callingSession, type Decision, liveCapsules, slots } from "./context.ts";
import type { Refusal } from "./refusals.ts";
import type { SpawnAnswer } from "./schemas.ts";

/** One request. `session` is absent if the credential names no running session. */
interface Asking {
  readonly caller: Caller;
  readonly coordinates: Coordinates;
  readonly session?: RunningSession<Envelope>;
}

/** One request of a running session. */
type Asked = Required<Asking>;

type Answered = Decision<SpawnAnswer>;

/**
 * Judges one request. The three bounds are checked before the registry is read, and once more in the step that takes the
 * slot, because other requests may have taken slots in between.
 */
export function spawn(
  context: Context,
  coordinates: Coordinates,
  caller: Caller,
): Answered | Promise<Answered> {
  const session = callingSession(context, caller.token);
  if (!session) return refused(context, { caller, coordinates }, { kind: "identity" });
  const asked = { caller, coordinates, session };
  const { name } = coordinates;
  if (!session.held.spawnAllow.index.has(name)) {
    return refused(context, asked, { kind: "not-in-parent-allow", name });
  }
  const standing = standingOf(context, session);
  const early = boundRefusal(context.limits, standing);
  if (early) return refused(context, asked, early, standing);
  const resolution = context.registry.resolve(coordinates, "verified");
  if (resolution instanceof Promise) return resolution.then((resolved) => judge(context, asked, resolved));
  return judge(context, asked, resolution, standing);
}

/** @param standing the session's figures, if nothing was awaited since they were taken */
function judge(
  context: Context,
  asked: Asked,
  resolution: Resolution<Envelope>,
  standing?: Standing,
): Answered | Promise<Answered> {
  if (!resolution.ok) return refused(context, asked, { kind: "unresolved", message: resolution.message });
  const { artifact } = resolution;
  const excesses = knownExcesses(asked.session.held, artifact.held);
  if (excesses instanceof Promise) {
    return excesses.then((exceeded) => conclude(context, asked, artifact, exceeded));
  }
  return conclude(context, asked, artifact, excesses, standing);
}

/** Nothing from here on is asynchronous, so what is checked here still holds when the slot is taken. */
function conclude(
  context: Context,
  asked: Asked,
  artifact: Artifact<Envelope>,
  excesses: readonly Excess[],
  known?: Standing,
): Answered {
  const { session, caller } = asked;
  if (isNonEmpty(excesses)) return refused(context, asked, { kind: "envelope", excesses });
  if (!context.sessions.running(session.id)) return refused(context, asked, { kind: "identity" });
  const standing = known ?? standingOf(context, session);
  const late = boundRefusal(context.limits, standing);
  if (late) return refused(context, asked, late, standing);
  // Nobody would get the approval. A caller can only have left if something was awaited.
  if (!known && caller.hasLeft()) return refused(context, asked, { kind: "caller-left" }, standing);
  return grant(context, asked, artifact, standing);
}

function grant(
  context: Context,
  { session, coordinates }: Asked,
  { sha256 }: Artifact<Envelope>,
  { liveCapsules: used }: Standing,
): Answered {
  const { authority, sessions, log } = context;
  const { id: sid } = session;
  const { name, version } = coordinates;
  const depth = session.depth - 1;
  const { token, approval } = authority.mintApproval({ sid, name, version, digest: sha256, depth });
  sessions.reserve(sid, approval.jti);
  log.granted({
    event: "spawn",
    session: sid,
    capsule: loggedCapsule(coordinates),
    approval: tokenId(token),
    depth,
    ...slots(context, used + 1),
  });
  return ok({ approval: token, name, version, sha256, expires_at_ms: approval.exp });
}

function refused(
  context: Context,
  { caller, session, coordinates }: Asking,
  refusal: Refusal,
  standing?: Standing,
): Answered {
  const fields = {
    event: "spawn",
    refused: refusal.kind,
    session: session?.id,
    capsule: loggedCapsule(coordinates),
    credential: caller.token === undefined ? undefined : tokenId(caller.token),
    depth: session?.depth,
    ...slots(context, standing?.liveCapsules),
    ...refusalDetail(refusal, coordinates),
  };
  if (session) context.log.refused(fields);
  else context.log.refusedUnverified(fields);
  return fault(refusal);
}

/** What the log adds to the kind. For an envelope it names every exceeded axis; the caller is told only the first. */
function refusalDetail(refusal: Refusal, coordinates: Coordinates): LogFields {
  if (refusal.kind === "bound") return { detail: refusal.bound };
  if (refusal.kind === "unresolved") return { detail: loggedSentence(refusal.message, coordinates) };
  if (refusal.kind !== "envelope") return {};
  const [first, ...others] = refusal.excesses;
  const also = others.map(({ key }) => key.replace("capabilities.", ""));
  return { detail: `${first.key}: '${first.entry}'`, also: also.length > 0 ? also.join(",") : undefined };
}

function standingOf(context: Context, { id, depth }: RunningSession<Envelope>): Standing {
  return {
    depthRemaining: depth,
    liveCapsules: liveCapsules(context),
    liveChildren: context.sessions.liveChildren(id),
  };
}

function boundRefusal(limits: Limits, standing: Standing): Refusal | undefined {
  const bound = boundReached(limits, standing);
  switch (bound) {
    case undefined:
      return undefined;
    case "depth":
      return { kind: "bound", bound, limit: limits.maxDepth, held: standing.depthRemaining };
    case "machine-ceiling":
      return { kind: "bound", bound, limit: limits.maxLiveCapsules, held: standing.liveCapsules };
    case "concurrency":
      return { kind: "bound", bound, limit: limits.maxConcurrent, held: standing.liveChildren };
    default:
      return bound satisfies never;
  }
}

function isNonEmpty<T>(list: readonly T[]): list is readonly [T, ...T[]] {
  return list.length > 0;
}
