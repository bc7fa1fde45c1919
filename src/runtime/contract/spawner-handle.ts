/** `MURMUR_SPAWNER`: where a delegated child reports its outcome, and for which delegation. */

import { fault, ok, type Result } from "../../result.ts";
import { addressOf, type DoorUrl, parseDoorUrl } from "../addresses.ts";
import { parseJsonObject } from "../json.ts";
import type { StartRefusal } from "../start-refusal.ts";

/** What a delegated child is told about its spawner: where to report, and for which delegation. */
export interface SpawnerHandle {
  /** The parent's session. A completion addressed to any other is refused. */
  readonly sessionId: string;
  /** The conversation that the delegation comes from. */
  readonly contextId: string;
  readonly delegationId: string;
  /** The parent's door. Absent if no completion is wanted (a plan's `capsule` step). */
  readonly url?: DoorUrl;
}

/** The handle as the value of the variable: compact JSON. */
export function formatSpawnerHandle(handle: SpawnerHandle): string {
  return JSON.stringify({
    ...(handle.url && { url: `http://${addressOf(handle.url)}` }),
    session_id: handle.sessionId,
    context_id: handle.contextId,
    delegation_id: handle.delegationId,
  });
}

/**
 * Reads the variable. Absent or blank means that nobody delegated this capsule.
 *
 * @returns `E-RUN-020` if the value is unreadable; the message never holds the value
 */
export function parseSpawnerHandle(
  value: string | undefined,
): Result<SpawnerHandle | undefined, StartRefusal> {
  if (value === undefined || value.trim() === "") return ok(undefined);
  const fields = parseJsonObject(value);
  if (!fields) return unreadable("it is not a JSON object");
  const sessionId = id(fields.session_id);
  const contextId = id(fields.context_id);
  const delegationId = id(fields.delegation_id);
  if (!sessionId) return unreadable("session_id is not an id");
  if (!contextId) return unreadable("context_id is not an id");
  if (!delegationId) return unreadable("delegation_id is not an id");
  const named = { sessionId, contextId, delegationId };
  if (fields.url === undefined) return ok(named);
  const url = typeof fields.url === "string" ? parseDoorUrl(fields.url) : undefined;
  if (!url) return unreadable("url is not http://<loopback address>:<port>");
  return ok({ ...named, url });
}

function unreadable(why: string): Result<never, StartRefusal> {
  return fault({
    code: "E-RUN-020",
    message: `MURMUR_SPAWNER does not hold a spawner handle: ${why}; unset it to start this capsule on its own`,
  });
}

/** The ids are sent in request headers, so only visible ASCII is allowed. */
function id(value: unknown): string | undefined {
  return typeof value === "string" && /^[\x21-\x7e]{1,512}$/.test(value) ? value : undefined;
}
