/** `GET /status/{session_id}`: a registered session's figures at the moment of the read. */

import { type Context, type Decision, liveCapsules, refuse } from "./context.ts";
import type { StatusAnswer } from "./schemas.ts";

export function status(context: Context, id: string): Decision<StatusAnswer> {
  const figures = context.sessions.figures(id);
  if (!figures) return refuse({ kind: "session-not-found" });
  return {
    ok: true,
    answer: {
      status: figures.status,
      depth_remaining: figures.depthRemaining,
      live_children: figures.liveChildren,
      live_capsules: liveCapsules(context),
    },
  };
}
