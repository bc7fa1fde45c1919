/**
 * Mints and verifies credentials and approvals; only this file does. Both keys live in memory only, so a restart voids
 * every token.
 *
 * A credential names a session. An approval names the session that earned it and one artifact, and is good for one
 * redemption within 60 seconds. This file does not know which sessions run.
 */

import type { ArtifactName, ArtifactVersion, Sha256 } from "../registry/artifact-name.ts";

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
  const nonces = new NoncePool(randomBytes);

  return {
    mintCredential(sid: string): string {
      return credentials.seal(JSON.stringify({ v: VERSION, sid, n: nonces.next() }));
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
      const approval = { sid, name, version, digest, depth, exp, jti: nonces.next() };
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

/** Gives 16 random bytes in hex at a time, and asks the system for many at once. */
class NoncePool {
  static readonly #BYTES = 16;
  #pool = Buffer.alloc(0);
  #used = 0;

  constructor(readonly randomBytes: (length: number) => Uint8Array) {}

  next(): string {
    if (this.#used === this.#pool.length) {
      this.#pool = Buffer.from(this.randomBytes(NoncePool.#BYTES * 256));
      this.#used = 0;
    }
    const start = this.#used;
    this.#used += NoncePool.#BYTES;
    return this.#pool.toString("hex", start, this.#used);
  }
}

/** 32 bytes in base64url, without padding. */
const MAC_CHARACTERS = 43;
const MAC_TEXT = /^[A-Za-z0-9_-]{43}$/;
/** No token of ours is this long, because names and versions are bounded. Longer ones are refused unread. */
const MAX_TOKEN_CHARACTERS = 4096;

// Buffers shared by all tokens, which saves allocations.
const payloadRoom = Buffer.alloc(MAX_TOKEN_CHARACTERS);
const presentedRoom = Buffer.alloc(MAC_CHARACTERS);
const expectedRoom = Buffer.alloc(MAC_CHARACTERS);

/**
 * A family of tokens: its tag, the label its MACs are bound to, and its own key. A token is
 * `<tag>.<base64url of the payload>.<base64url of the MAC>`.
 *
 * The MAC is HMAC-SHA256 over the family's label, a byte 0x1f, and the payload's base64url text. Both parts are compared
 * as text, before any decoding, so other base64url spellings of the same bytes are refused.
 */
export function createSeal(tag: string, label: string, key: Uint8Array) {
  const prefix = `${tag}.`;
  const context = `${label}\u001f`;
  let destroyed = false;

  const macOf = (text: string): string =>
    new Bun.CryptoHasher("sha256", key).update(context + text).digest("base64url");

  return {
    /** Seals a payload's text. */
    seal(payload: string): string {
      if (destroyed) throw new Error("this seal's key was destroyed");
      const text = payloadRoom.toString("base64url", 0, payloadRoom.write(payload, "utf8"));
      return `${prefix}${text}.${macOf(text)}`;
    },

    /** The payload's text, or `undefined` if this family did not seal the token. */
    open(token: string): string | undefined {
      if (destroyed || token.length > MAX_TOKEN_CHARACTERS || !token.startsWith(prefix)) return undefined;
      const dot = token.length - MAC_CHARACTERS - 1;
      if (token[dot] !== ".") return undefined;
      const text = token.slice(prefix.length, dot);
      if (!isSameMac(token.slice(dot + 1), macOf(text))) return undefined;
      // The MAC is valid, so this very text was encoded above.
      return payloadRoom.toString("utf8", 0, payloadRoom.write(text, "base64url"));
    },

    /** Overwrites the key; no token opens afterwards. */
    destroy(): void {
      destroyed = true;
      key.fill(0);
    },
  };
}

/** Compares in constant time, if the text could be a MAC at all. */
function isSameMac(presented: string, expected: string): boolean {
  if (!MAC_TEXT.test(presented)) return false;
  presentedRoom.write(presented, "latin1");
  expectedRoom.write(expected, "latin1");
  return crypto.timingSafeEqual(presentedRoom, expectedRoom);
}
