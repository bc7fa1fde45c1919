/**
 * Mints and verifies credentials and approvals; only this file does. Both keys live in memory only, so a restart voids
 * every token.
 *
 * A credential names a session. An approval names the session that earned it and one artifact, and is good for one
 * redemption within 60 seconds. This file does not know which sessions run.
 */

import type { ArtifactName, ArtifactVersion, Sha256 } from "../registry/artifact-name.ts";
import { createSeal } from "./seal.ts";

/** How long an approval lives, in milliseconds, on both clocks. */
export const APPROVAL_LIFETIME_MS = 60_000;

/** What an approval says: one artifact, judged for one session, with the child's own depth budget. */
export interface Approval {
  /** The session that earned it. */
  readonly sid: string;
  readonly name: ArtifactName;
  readonly version: ArtifactVersion;
  readonly digest: Sha256;
  /** Levels of delegation that the child may spend. */
  readonly depth: number;
  /** Unix milliseconds. */
  readonly exp: number;
  /** Unique: 16 random bytes in hex. A redeemed approval is remembered by it. */
  readonly jti: string;
}

export type Authority = ReturnType<typeof createAuthority>;

const VERSION = 1;

export function createAuthority(options: {
  readonly randomBytes: (length: number) => Uint8Array;
  readonly wall: () => number;
}) {
  const { randomBytes, wall } = options;
  const credentials = createSeal("msc1", "murmur-spawn-credential-v1", randomBytes(32));
  const approvals = createSeal("msa1", "murmur-spawn-approval-v1", randomBytes(32));
  const nonce = () => Buffer.from(randomBytes(16)).toString("hex");

  return {
    mintCredential(sid: string): string {
      return credentials.seal(JSON.stringify({ v: VERSION, sid, n: nonce() }));
    },

    /** The session that the credential names, or `undefined` if this daemon did not mint the token as a credential. */
    verifyCredential(token: string): string | undefined {
      const payload = readPayload(credentials.open(token));
      return typeof payload?.sid === "string" ? payload.sid : undefined;
    },

    mintApproval(grant: Omit<Approval, "exp" | "jti">): {
      readonly token: string;
      readonly approval: Approval;
    } {
      const { sid, name, version, digest, depth } = grant;
      const exp = wall() + APPROVAL_LIFETIME_MS;
      const approval = { sid, name, version, digest, depth, exp, jti: nonce() };
      return { token: approvals.seal(JSON.stringify({ v: VERSION, ...approval })), approval };
    },

    /** The approval, or `undefined` if this daemon did not mint the token as one. Does not check the expiry. */
    verifyApproval(token: string): Approval | undefined {
      return readPayload(approvals.open(token)) as Approval | undefined;
    },

    /** Overwrites both keys. */
    destroy(): void {
      credentials.destroy();
      approvals.destroy();
    },
  };
}

/** A payload with a valid MAC was written above, so only its version needs a check. */
function readPayload(text: string | undefined): Partial<Approval> | undefined {
  if (text === undefined) return undefined;
  try {
    const payload = JSON.parse(text) as { readonly v?: unknown } & Partial<Approval>;
    return payload.v === VERSION ? payload : undefined;
  } catch {
    return undefined;
  }
}
