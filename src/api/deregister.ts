/** `POST /deregister`: a session reports that it has ended. */

import { tokenId } from "../log/fields.ts";
import { fault, ok } from "../result.ts";
import type { Fields } from "./body.ts";
import { type Caller, type Context, callingSession, type Decision, slots } from "./context.ts";
import type { DeregisterAnswer } from "./schemas.ts";

/**
 * Retires the session that the credential names; the credential authorises nothing afterwards. It does so even if the
 * caller has closed its connection, because a session often exits right after this report.
 */
export function deregister(
  context: Context,
  { outcome }: Pick<Fields, "outcome">,
  { token }: Caller,
): Decision<DeregisterAnswer> {
  const session = callingSession(context, token);
  const named = { credential: token === undefined ? undefined : tokenId(token) };
  if (!session) {
    context.log.refusedUnverified({ event: "deregister", refused: "identity", ...named, ...slots(context) });
    return fault({ kind: "identity" });
  }
  const { id, depth } = session;
  context.sessions.finish(id, outcome);
  context.census.sessionEnded(id);
  context.log.granted({ event: "deregister", session: id, outcome, ...named, depth, ...slots(context) });
  return ok({});
}
