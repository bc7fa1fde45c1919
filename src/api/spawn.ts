/** `POST /spawn`: may this session start that capsule? */

import type { LogFields } from "../log/fields.ts";
import { tokenId } from "../log/token-id.ts";
import { type Bound, boundReached, type Limits, type Standing, slotBoundReached } from "../referee/bounds.ts";
import type { Envelope } from "../referee/envelope.ts";
import { knownExcesses } from "../referee/verdicts.ts";
import type { Coordinates } from "../registry/artifact-name.ts";
import type { Artifact, Resolution } from "../registry/registry.ts";
import type { RunningSession } from "../sessions/sessions.ts";
import {
  type Context,
  callingSession,
  type Decision,
  liveCapsules,
  parseCoordinates,
  refuse,
  slots,
} from "./context.ts";
import { loggedCapsule } from "./logged.ts";
import type { Refusal } from "./refusals.ts";
import type { SpawnAnswer, SpawnBody } from "./schemas.ts";

/** One request, as far as it is understood. */
interface Asking {
  readonly credential: string | undefined;
  readonly caller: RunningSession<Envelope> | undefined;
  readonly coordinates: Coordinates;
}

/** One request of a running session. */
interface Asked extends Asking {
  readonly caller: RunningSession<Envelope>;
}

/**
 * Judges one request. The three bounds are asked before the registry is read, and once more in the step that takes the
 * slot: between the two, others may have taken it.
 */
export function spawn(
  context: Context,
  body: SpawnBody,
  credential: string | undefined,
): Decision<SpawnAnswer> | Promise<Decision<SpawnAnswer>> {
  const coordinates = parseCoordinates(body);
  if (!coordinates.ok) return coordinates;
  const caller = callingSession(context, credential);
  const asking: Asking = { credential, caller, coordinates: coordinates.answer };
  if (!caller) return refused(context, asking, { kind: "identity" });
  const asked: Asked = { ...asking, caller };
  const early = refuseBeforeResolving(context, asked);
  if (early) return refused(context, asked, early);
  const resolution = context.registry.resolve(asked.coordinates, "verified");
  if (resolution instanceof Promise) return resolution.then((resolved) => judge(context, asked, resolved));
  return judge(context, asked, resolution);
}

function refuseBeforeResolving(context: Context, asked: Asked): Refusal | undefined {
  const { name } = asked.coordinates;
  if (!asked.caller.held.spawnAllow.index.has(name)) return { kind: "not-in-parent-allow", name };
  const standing = standingOf(context, asked);
  return boundRefusal(boundReached(context.limits, standing), context.limits, standing);
}

/** From here to the end nothing waits: what was checked is still so when the slot is taken. */
function judge(context: Context, asked: Asked, resolution: Resolution<Envelope>): Decision<SpawnAnswer> {
  if (!resolution.ok) return refused(context, asked, { kind: "unresolved", message: resolution.message });
  const exceeded = knownExcesses(asked.caller.held, resolution.artifact.held);
  if (isNonEmpty(exceeded)) return refused(context, asked, { kind: "envelope", excesses: exceeded });
  if (!context.sessions.running(asked.caller.id)) return refused(context, asked, { kind: "identity" });
  const standing = standingOf(context, asked);
  const late = boundRefusal(slotBoundReached(context.limits, standing), context.limits, standing);
  return late ? refused(context, asked, late) : grant(context, asked, resolution.artifact);
}

function grant(
  context: Context,
  { caller, coordinates }: Asked,
  { sha256 }: Artifact<Envelope>,
): Decision<SpawnAnswer> {
  const { authority, sessions, log } = context;
  const { name, version } = coordinates;
  const depth = caller.depth - 1;
  const { token, approval } = authority.mintApproval({
    sid: caller.id,
    name,
    version,
    digest: sha256,
    depth,
  });
  sessions.reserve(caller.id, approval.jti);
  log.granted({
    event: "spawn",
    session: caller.id,
    capsule: loggedCapsule(coordinates),
    approval: tokenId(token),
    depth,
    ...slots(context),
  });
  return { ok: true, answer: { approval: token, name, version, sha256, expires_at_ms: approval.exp } };
}

function refused(
  context: Context,
  { credential, caller, coordinates }: Asking,
  refusal: Refusal,
): Decision<SpawnAnswer> {
  const fields = {
    event: "spawn",
    refused: refusal.kind,
    session: caller?.id,
    capsule: loggedCapsule(coordinates),
    credential: credential === undefined ? undefined : tokenId(credential),
    depth: caller?.depth,
    ...slots(context),
    ...refusalDetail(refusal),
  };
  if (caller) context.log.refused(fields);
  else context.log.refusedUnverified(fields);
  return refuse(refusal);
}

/** What the operator is told beyond the kind: of an envelope every axis that was exceeded, not only the one the caller hears. */
function refusalDetail(refusal: Refusal): LogFields {
  if (refusal.kind === "bound") return { detail: refusal.bound };
  if (refusal.kind === "unresolved") return { detail: refusal.message };
  if (refusal.kind !== "envelope") return {};
  const [first, ...others] = refusal.excesses;
  const also = others.map(({ key }) => key.replace("capabilities.", ""));
  return { detail: `${first.key}: '${first.entry}'`, also: also.length > 0 ? also.join(",") : undefined };
}

function standingOf(context: Context, { caller }: Asked): Standing {
  return {
    depthRemaining: caller.depth,
    liveCapsules: liveCapsules(context),
    liveChildren: context.sessions.liveChildren(caller.id),
  };
}

function boundRefusal(bound: Bound | undefined, limits: Limits, standing: Standing): Refusal | undefined {
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
