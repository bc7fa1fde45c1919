/**
 * Sealed payloads: `<tag>.<base64url of the payload>.<base64url of the MAC>`. This file does not know what a payload means.
 *
 * The MAC is HMAC-SHA256 over the family's label, a byte 0x1f, and the payload's base64url text. Both parts are compared
 * as text, before any decoding, so other base64url spellings of the same bytes are refused.
 */

/** 32 bytes in base64url, without padding. */
const MAC_CHARACTERS = 43;
const MAC_TEXT = /^[A-Za-z0-9_-]{43}$/;
/** No token of ours is this long, because names and versions are bounded. Longer ones are refused unread. */
const MAX_TOKEN_CHARACTERS = 4096;

/** A family of tokens: its tag, the label its MACs are bound to, and its own key. */
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
      const text = Buffer.from(payload).toString("base64url");
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
      return Buffer.from(text, "base64url").toString();
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
  return MAC_TEXT.test(presented) && crypto.timingSafeEqual(Buffer.from(presented), Buffer.from(expected));
}
