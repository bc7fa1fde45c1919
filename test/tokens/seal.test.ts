import { describe, expect, test } from "bun:test";
import { createHmac } from "node:crypto";
import { createSeal } from "../../src/tokens/seal.ts";

const key = () => new Uint8Array(32).fill(7);
const seal = createSeal("msx1", "label", key());

describe("a sealed payload", () => {
  const token = seal.seal('{"v":1}');
  const [tag = "", payload = "", mac = ""] = token.split(".");

  test("consists of tag, payload and a MAC over label, 0x1f and the payload's text", () => {
    expect(tag).toBe("msx1");
    expect(payload).toBe(Buffer.from('{"v":1}').toString("base64url"));
    const expected = createHmac("sha256", key()).update("label\u001f").update(payload).digest("base64url");
    expect(mac).toBe(expected);
    expect(seal.open(token)).toBe('{"v":1}');
  });

  test("does not open with any one bit changed, even an unused trailing bit of its last characters", () => {
    const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    for (let at = 0; at < token.length; at++) {
      const known = alphabet.indexOf(token.charAt(at));
      for (const bit of [1, 2, 4, 8, 16, 32]) {
        const other =
          known === -1 ? String.fromCharCode(token.charCodeAt(at) ^ bit) : alphabet.charAt(known ^ bit);
        const changed = token.slice(0, at) + other + token.slice(at + 1);
        expect(seal.open(changed)).toBeUndefined();
      }
    }
  });

  test.each([
    ["padded", `${token}=`],
    ["with white space after it", `${token} `],
    ["with white space before it", ` ${token}`],
    ["in the other base64 alphabet", `${tag}.${payload}.${mac.replaceAll("-", "+").replaceAll("_", "/")}+`],
    ["of two segments", `${tag}.${payload}`],
    ["of four segments", `${token}.${mac}`],
    ["without a payload", `${tag}..${mac}`],
    ["without a MAC", `${tag}.${payload}.`],
    ["empty", ""],
    ["of another tag", `msy1.${payload}.${mac}`],
    ["in upper case", token.toUpperCase()],
    [
      "with a MAC in look-alike letters",
      `${tag}.${payload}.${mac.replace(/[A-Za-z]/, (letter) => String.fromCharCode(letter.charCodeAt(0) + 0x100))}`,
    ],
    ["with a payload in look-alike letters", `${tag}.${payload.replace("e", "\u0165")}.${mac}`],
    ["endless", `${tag}.${"A".repeat(100_000)}.${mac}`],
  ])("does not open %s", (_, text) => {
    expect(seal.open(text)).toBeUndefined();
  });

  test("does not open under another key or another label", () => {
    expect(createSeal("msx1", "label", new Uint8Array(32)).open(token)).toBeUndefined();
    expect(createSeal("msx1", "other", key()).open(token)).toBeUndefined();
  });
});

test("a destroyed seal has overwritten its key, and neither seals nor opens anything", () => {
  const bytes = key();
  const doomed = createSeal("msx1", "label", bytes);
  const token = doomed.seal("x");
  doomed.destroy();
  expect(bytes.every((byte) => byte === 0)).toBe(true);
  expect(doomed.open(token)).toBeUndefined();
  expect(() => doomed.seal("x")).toThrow("this seal's key was destroyed");
});

test("a payload of any length opens to itself, up to a token of 4,096 characters", () => {
  // 3,035 bytes are 4,047 characters of base64url, plus a tag of 5 and a MAC of 44 with its dot.
  for (let length = 0; length <= 3035; length++) {
    const payload = String.fromCharCode(33 + (length % 90)).repeat(length);
    expect(seal.open(seal.seal(payload))).toBe(payload);
  }
  expect(seal.seal("x".repeat(3035))).toHaveLength(4096);
  expect(seal.open(seal.seal("x".repeat(3036)))).toBeUndefined();
});
