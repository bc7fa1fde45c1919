/** What may stand in a log of a token: the first 16 hex digits of the SHA-256 of its text. */
export function tokenId(token: string): string {
  return Bun.SHA256.hash(token, "hex").slice(0, 16);
}
