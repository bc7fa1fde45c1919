/**
 * What a line of the log may say of what a caller sent. Callers put tokens in places where none belongs, whole or
 * encoded, so the log shows only what names something that is known here, and of the rest a hash or a length.
 */

import { hashed, type LogFields } from "../log/fields.ts";
import { holdsToken } from "../log/token-id.ts";
import type { Coordinates } from "../registry/artifact-name.ts";
import type { SessionId } from "../sessions/sessions.ts";
import type { Context } from "./context.ts";
import { coordinate } from "./refusals.ts";

/** No token is so short. */
const LONGEST_SHOWN_VERSION = 64;

/** `local/worker-a@0.1.0`; the version only as a hash where it could be a token. */
export function loggedCapsule({ name, version }: Coordinates): string {
  const isShown = version.length <= LONGEST_SHOWN_VERSION && !holdsToken(version);
  return isShown ? coordinate({ name, version }) : `${name}@${hashed(version)}`;
}

/** A session's id, as a hash where it names no session. */
export function loggedSession({ sessions }: Context, id: SessionId): string {
  return sessions.has(id) ? id : hashed(id);
}

const ROUTES = /^\/(?:health|spawn|register|deregister)$/;
const STATUS = /^\/status\/(.+)$/s;
const FIRST_COMPONENT = /^\/[A-Za-z0-9_-]{0,32}(?=\/|$)/;

/** The path as far as it matches a route; of another one its first component and its length, in characters. */
export function loggedPath(url: string): LogFields {
  // From the path on; a query is nothing we look at.
  const path = url.slice(url.indexOf("/", 8)).split("?", 1)[0] ?? "";
  if (ROUTES.test(path)) return { path };
  const [, id] = STATUS.exec(path) ?? [];
  if (id !== undefined) return { path: "/status", session: hashed(id) };
  return { path: FIRST_COMPONENT.exec(path)?.[0] ?? hashed(path), path_length: path.length };
}
