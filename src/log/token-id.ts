/** What a log may show of a token, and how to detect a token in a text. */

/** The first 16 hex digits of the SHA-256 of a token's text. */
export function tokenId(token: string): string {
  return Bun.SHA256.hash(token, "hex").slice(0, 16);
}

const TOKEN_START = /ms[ac]1\./i;
/** How often a text is decoded: it may have been encoded more than once. */
const MAX_DECODINGS = 4;

/** Whether the text may contain a token: in any case, plain or percent-encoded, wholly or in part. */
export function holdsToken(text: string): boolean {
  let decoded = text;
  for (let round = 0; decoded.includes("%") && round < MAX_DECODINGS; round++) {
    decoded = decoded.replace(/%([0-9a-f]{2})/gi, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)));
  }
  return TOKEN_START.test(decoded);
}
