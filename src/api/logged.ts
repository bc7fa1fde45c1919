/**
 * What a log line may show of a caller's input. A caller may put a token into any field, plain or encoded. So the log
 * shows values that cannot be a token, and a hash or a length of everything else.
 */

import { hashed, type LogFields } from "../log/fields.ts";
import { holdsToken } from "../log/token-id.ts";
import type { Coordinates } from "../registry/artifact-name.ts";
import type { SessionId } from "../sessions/sessions.ts";
import type { Context } from "./context.ts";
import { coordinate } from "./refusals.ts";

/** Every token is longer than this. */
const LONGEST_SHOWN_VERSION = 64;

/** `local/worker-a@0.1.0`. A version that could be a token is shown as a hash. */
export function loggedCapsule({ name, version }: Coordinates): string {
  const isShown = version.length <= LONGEST_SHOWN_VERSION && !holdsToken(version);
  return isShown ? coordinate({ name, version }) : `${name}@${hashed(version)}`;
}

/** A session's id, or its hash if there is no such session. */
export function loggedSession({ sessions }: Context, id: SessionId): string {
  return sessions.has(id) ? id : hashed(id);
}

const ROUTES = /^\/(?:health|spawn|register|deregister)$/;
const STATUS = /^\/status\/(.+)$/s;
const FIRST_COMPONENT = /^\/[A-Za-z0-9_-]{0,32}(?=\/|$)/;

/** The path, if it is a route's. Of any other path, its first component and its length in characters. */
export function loggedPath(url: string): LogFields {
  // The path without the query.
  const path = url.slice(url.indexOf("/", 8)).split("?", 1)[0] ?? "";
  if (ROUTES.test(path)) return { path };
  const [, id] = STATUS.exec(path) ?? [];
  if (id !== undefined) return { path: "/status", session: hashed(id) };
  return { path: FIRST_COMPONENT.exec(path)?.[0] ?? hashed(path), path_length: path.length };
}
