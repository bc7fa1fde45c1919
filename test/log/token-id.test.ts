import { expect, test } from "bun:test";
import { tokenId } from "../../src/log/fields.ts";

test("a token's id is the first 16 hex digits of the SHA-256 of its text", () => {
  expect(tokenId("abc")).toBe("ba7816bf8f01cfea");
});
