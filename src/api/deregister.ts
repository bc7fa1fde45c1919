/** `POST /deregister`: a session reports that it has ended. */

import { tokenId } from "../log/token-id.ts";
import { type Context, callingSession, type Decision, refuse, slots } from "./context.ts";
import type { DeregisterAnswer, DeregisterBody } from "./schemas.ts";

/** Retires the session that the credential names; the credential authorises nothing afterwards. */
export function deregister(
  context: Context,
  { outcome }: DeregisterBody,
  credential: string | undefined,
): Decision<DeregisterAnswer> {
  const session = callingSession(context, credential);
  const named = { credential: credential === undefined ? undefined : tokenId(credential) };
  if (!session) {
    context.log.refusedUnverified({ event: "deregister", refused: "identity", ...named, ...slots(context) });
    return refuse({ kind: "identity" });
  }
  context.sessions.finish(session.id, outcome);
  context.census.sessionEnded(session.id);
  const { id, depth } = session;
  context.log.granted({ event: "deregister", session: id, outcome, ...named, depth, ...slots(context) });
  return { ok: true, answer: {} };
}
