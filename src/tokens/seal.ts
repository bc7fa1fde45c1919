/**
 * Sealed payloads: `<tag>.<base64url of the payload>.<base64url of the MAC>`. What a payload means is not known here.
 *
 * The MAC is HMAC-SHA256 over the family's label, a byte 0x1f, and the payload's base64url text. Base64url is strict:
 * no padding, no other alphabet, no stray trailing bits, so that one payload has one text.
 */

import { timingSafeEqual } from "node:crypto";

/** A family of tokens: its tag, the label its MACs are bound to, and its own key. */
export interface Seal {
  /** Seals a payload's text. */
  seal(payload: string): string;
  /** The payload's text, or `undefined` where the token is not one that this family sealed. */
  open(token: string): string | undefined;
  /** Overwrites the key; nothing opens afterwards. */
  destroy(): void;
}

const MAC_BYTES = 32;
/** Longer than any token of ours: names and versions are bounded. What is longer is not decoded at all. */
const MAX_TOKEN_CHARACTERS = 4096;

export function createSeal(tag: string, label: string, key: Uint8Array): Seal {
  const prefix = `${tag}.`;
  const context = `${label}\u001f`;
  let destroyed = false;

  const macOf = (text: string): Buffer =>
    new Bun.CryptoHasher("sha256", key).update(context).update(text).digest() as Buffer;

  return {
    seal(payload) {
      if (destroyed) throw new Error("this seal's key was destroyed");
      const text = Buffer.from(payload, "utf8").toString("base64url");
      return `${prefix}${text}.${macOf(text).toString("base64url")}`;
    },
    open(token) {
      if (destroyed || token.length > MAX_TOKEN_CHARACTERS || !token.startsWith(prefix)) return undefined;
      const dot = token.indexOf(".", prefix.length);
      if (dot === -1) return undefined;
      const text = token.slice(prefix.length, dot);
      const mac = decodeBase64url(token.slice(dot + 1));
      if (mac?.length !== MAC_BYTES || !timingSafeEqual(mac, macOf(text))) return undefined;
      return decodeBase64url(text)?.toString("utf8");
    },
    destroy() {
      destroyed = true;
      key.fill(0);
    },
  };
}

/** Strict: decoding forgives much, so what it read must encode to the very same text. */
export function decodeBase64url(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, "base64url");
  return bytes.toString("base64url") === text ? bytes : undefined;
}

/** What may stand in a log of a token: the first 16 hex digits of the SHA-256 of its text. */
export function tokenId(token: string): string {
  return new Bun.CryptoHasher("sha256").update(token).digest("hex").slice(0, 16);
}
