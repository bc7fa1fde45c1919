/**
 * The shapes of the five endpoints. The daemon's routes check against them, the runtime library's client takes its types
 * from them, and the OpenAPI document is generated from them.
 */

import { type Static, Type } from "@sinclair/typebox";

/** Header names, as the API page spells them. */
export const CREDENTIAL_HEADER = "x-murmur-spawn-credential";
export const APPROVAL_HEADER = "x-murmur-spawn-approval";

const FULL_NAME = Type.String({ description: "Capsule full name, `<scope>/<name>`" });
const VERSION = Type.String({ description: "Capsule version, looked up literally" });

/** Every refusal, whatever its status. */
export const Refused = Type.Object(
  { error: Type.String({ description: "What was refused, and what to change" }) },
  { additionalProperties: false },
);
export type Refused = Static<typeof Refused>;

export const HealthAnswer = Type.Object({}, { additionalProperties: false });
export type HealthAnswer = Static<typeof HealthAnswer>;

export const SpawnBody = Type.Object({ name: FULL_NAME, version: VERSION });
export type SpawnBody = Static<typeof SpawnBody>;

export const SpawnHeaders = Type.Object({
  [CREDENTIAL_HEADER]: Type.Optional(Type.String({ description: "The calling session's credential" })),
});

export const SpawnAnswer = Type.Object(
  {
    approval: Type.String({ description: "Opaque, one redemption" }),
    name: FULL_NAME,
    version: VERSION,
    sha256: Type.String({ description: "Lowercase hex SHA-256 of the artifact that was judged" }),
    expires_at_ms: Type.Integer({ description: "Unix milliseconds, 60 seconds after the grant" }),
  },
  { additionalProperties: false },
);
export type SpawnAnswer = Static<typeof SpawnAnswer>;

export const RegisterBody = Type.Object({
  session_id: Type.String({ description: "The registering session's own id, never used before" }),
  name: FULL_NAME,
  version: VERSION,
});
export type RegisterBody = Static<typeof RegisterBody>;

export const RegisterHeaders = Type.Object({
  [APPROVAL_HEADER]: Type.Optional(
    Type.String({ description: "The approval this session was launched with; absent on the top-level path" }),
  ),
});

export const RegisterAnswer = Type.Object(
  { credential: Type.String({ description: "Opaque, lives as long as the daemon" }) },
  { additionalProperties: false },
);
export type RegisterAnswer = Static<typeof RegisterAnswer>;

/** How a session ended, as it reported it. */
export const Outcome = Type.Union([Type.Literal("complete"), Type.Literal("failed")]);
export type Outcome = Static<typeof Outcome>;

export const DeregisterBody = Type.Object({ outcome: Outcome });
export type DeregisterBody = Static<typeof DeregisterBody>;

export const DeregisterHeaders = SpawnHeaders;

export const DeregisterAnswer = Type.Object({}, { additionalProperties: false });
export type DeregisterAnswer = Static<typeof DeregisterAnswer>;

/** A session id: 1 to 256 characters of `A-Z a-z 0-9 _ . : -`, and not `.` or `..`. */
const SESSION_ID_PATTERN = "^(?!\\.{1,2}$)[A-Za-z0-9_.:-]{1,256}$";
const SESSION_ID = new RegExp(SESSION_ID_PATTERN);

export function isSessionId(text: string): boolean {
  return SESSION_ID.test(text);
}

export const StatusPath = Type.Object({ session_id: Type.String({ pattern: SESSION_ID_PATTERN }) });

export const StatusAnswer = Type.Object(
  {
    status: Type.Union([Type.Literal("running"), Outcome]),
    depth_remaining: Type.Integer({ description: "Levels of delegation still available below this session" }),
    live_children: Type.Integer({
      description: "Children held now, approved and not yet launched ones included",
    }),
    live_capsules: Type.Integer({ description: "Capsules live on the host across every formation" }),
  },
  { additionalProperties: false },
);
export type StatusAnswer = Static<typeof StatusAnswer>;
