/** `POST /register`: a session announces itself, and takes the credential it will delegate with. */

import { hashed, loggedCapsule, loggedSentence, tokenId } from "../log/fields.ts";
import type { Envelope } from "../referee/envelope.ts";
import type { Coordinates } from "../registry/artifact-name.ts";
import type { Asker } from "../registry/lanes.ts";
import type { Artifact, Resolution } from "../registry/registry.ts";
import { fault, ok } from "../result.ts";
import type { RunningSession, SessionId } from "../sessions/sessions.ts";
import type { Approval } from "../tokens/authority.ts";
import type { Fields } from "./body.ts";
import { type Caller, type Context, type Decision, slots } from "./context.ts";
import type { Refusal } from "./refusals.ts";
import type { RegisterAnswer } from "./schemas.ts";

interface Registration {
  readonly id: SessionId;
  readonly coordinates: Coordinates;
  /** Absent on the top-level path. An empty header counts as presented. */
  readonly approval: string | undefined;
  /** What that approval says, if it verifies. It is spent only once the artifact is known. */
  readonly verified: Approval | undefined;
  readonly caller: Caller;
}

/**
 * Admits one session, which takes the credential it will delegate with. Without an approval, `--spawn-allow` is checked
 * before the registry. An approval that does not verify "is a failed exchange" (POST /register): it never falls back to
 * `--spawn-allow`.
 */
export function register(
  context: Context,
  { session_id: id, name, version }: Pick<Fields, "session_id" | "name" | "version">,
  caller: Caller,
): Decision<RegisterAnswer> | Promise<Decision<RegisterAnswer>> {
  const approval = caller.token;
  const verified = approval === undefined ? undefined : context.authority.verifyApproval(approval);
  const registration = { id, coordinates: { name, version }, approval, verified, caller };
  if (approval === undefined && !context.spawnAllow.has(name)) {
    return refused(context, registration, { kind: "not-in-spawn-allow", name });
  }
  const asker = askerOf(context, registration);
  const resolution = context.registry.resolve(registration.coordinates, asker);
  if (resolution instanceof Promise) {
    return resolution.then((resolved) => admit(context, registration, resolved));
  }
  return admit(context, registration, resolution);
}

/** The lane in which the artifact is read: a good approval goes first. */
function askerOf({ wall }: Context, { approval, verified, coordinates }: Registration): Asker {
  if (approval === undefined) return "listed";
  const isForThis =
    verified !== undefined &&
    verified.exp > wall() &&
    verified.name === coordinates.name &&
    verified.version === coordinates.version;
  return isForThis ? "verified" : "other";
}

/** Nothing from here on is asynchronous, so one approval makes one session, however many requests present it at once. */
function admit(
  context: Context,
  registration: Registration,
  resolution: Resolution<Envelope>,
): Decision<RegisterAnswer> {
  const { sessions, limits } = context;
  const { id, coordinates, approval, verified } = registration;
  if (!resolution.ok) {
    return refused(context, registration, { kind: "unresolved", message: resolution.message });
  }
  // Nobody would get the credential. Nothing has been spent yet.
  if (registration.caller.hasLeft()) return refused(context, registration, { kind: "caller-left" });
  // An id that was used before does not spend the approval.
  if (sessions.has(id)) return refused(context, registration, { kind: "identity" });
  const { artifact } = resolution;
  if (approval === undefined) {
    sessions.addRoot(id, limits.maxDepth, artifact.held);
    return admitted(context, registration, limits.maxDepth);
  }
  if (!verified) return refused(context, registration, { kind: "identity" });
  const parent = redeem(context, verified, coordinates, artifact);
  if (!parent.ok) return refused(context, registration, parent.fault, verified);
  sessions.addChild(id, verified.depth, artifact.held, parent.value.id, verified.jti);
  return admitted(context, registration, verified.depth);
}

/**
 * Spends an approval, and returns the session that earned it. Credentials and approvals: "an approval is marked spent as
 * soon as it verifies, before the artifact is compared".
 */
function redeem(
  { sessions, wall }: Context,
  approval: Approval,
  asked: Coordinates,
  { sha256: resolved }: Artifact<Envelope>,
): Decision<RunningSession<Envelope>> {
  if (approval.exp <= wall()) return fault({ kind: "approval-expired" });
  const redemption = sessions.redeem(approval.jti);
  // Its 60 seconds have passed on the monotonic clock, which nobody can set.
  if (redemption === "unknown") return fault({ kind: "approval-expired" });
  if (redemption === "spent") return fault({ kind: "approval-redeemed" });
  const parent = sessions.running(approval.sid);
  if (!parent) return fault({ kind: "identity" });
  if (approval.name !== asked.name || approval.version !== asked.version) {
    return fault({ kind: "approval-other-coordinates", granted: approval, asked });
  }
  if (approval.digest !== resolved) {
    return fault({ kind: "approval-other-bytes", asked, approved: approval.digest, resolved });
  }
  return ok(parent);
}

function admitted(
  context: Context,
  { id, coordinates, approval }: Registration,
  depth: number,
): Decision<RegisterAnswer> {
  const credential = context.authority.mintCredential(id);
  context.census.sessionStarted(id);
  context.log.granted({
    event: "register",
    session: id,
    capsule: loggedCapsule(coordinates),
    approval: approval === undefined ? "none" : tokenId(approval),
    credential: tokenId(credential),
    depth,
    ...slots(context),
  });
  return ok({ credential });
}

/** @param verified an approval that verified, and was refused for what it says */
function refused(
  context: Context,
  { id, coordinates, approval }: Registration,
  refusal: Refusal,
  verified?: Approval,
): Decision<RegisterAnswer> {
  const fields = {
    event: "register",
    refused: refusal.kind,
    session: context.sessions.has(id) ? id : hashed(id),
    capsule: loggedCapsule(coordinates),
    approval: approval === undefined ? "none" : tokenId(approval),
    ...slots(context),
    detail: refusal.kind === "unresolved" ? loggedSentence(refusal.message, coordinates) : undefined,
  };
  if (verified) context.log.refused(fields);
  else context.log.refusedUnverified(fields);
  return fault(refusal);
}
