/** `GET /status/{session_id}`: a registered session's figures at the moment of the read. */

import { fault, ok } from "../result.ts";
import { type Context, type Decision, liveCapsules } from "./context.ts";
import type { StatusAnswer } from "./schemas.ts";

export function status(context: Context, id: string): Decision<StatusAnswer> {
  const figures = context.sessions.figures(id);
  if (!figures) return fault({ kind: "session-not-found" });
  return ok({
    status: figures.status,
    depth_remaining: figures.depthRemaining,
    live_children: figures.liveChildren,
    live_capsules: liveCapsules(context),
  });
}
