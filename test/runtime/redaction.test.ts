import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import {
  createRedactor,
  partialSecret,
  redact,
  redactBytes,
  redactSaid,
} from "../../src/runtime/redaction.ts";
import { Secret } from "../../src/runtime/secret.ts";

const TOKEN = "msc1.eyJ2IjoxfQ.bWFj";
const secret = new Secret(TOKEN);
const APPROVAL = `msa1.${Buffer.from('{"v":1,"sid":"ses_0193","name":"local/worker","sha256":"9f2c"}').toString("base64url")}.${"kQ9-_x".repeat(7)}a`;
const approval = new Secret(APPROVAL);
const OPERATOR = "8c1f0d5e7b9a4c36b1e2f3a4d5c6b7a8";
const operator = new Secret(OPERATOR);
const both = [approval, operator];

describe("redacting a result", () => {
  test("removes every occurrence of every secret, and nothing else", () => {
    const other = new Secret("another-secret");
    expect(redact(`${TOKEN}${TOKEN} another-secret x`, [secret, other])).toBe(
      "<redacted><redacted> <redacted> x",
    );
    const near = `${APPROVAL.slice(0, -1)} ${APPROVAL.slice(1)} msc1.abc.def`;
    expect(redact(near, [approval])).toBe(near);
  });

  test("never makes it longer: a short token is masked at its own length", () => {
    expect(redact("a tool told", [new Secret("to")])).toBe("a **ol **ld");
    expect(redact("eeee", [new Secret("e")])).toBe("****");
  });

  test("masks the rest as a whole once a secret occurred a hundred thousand times", () => {
    const letter = [new Secret("e")];
    const all = 100_000;
    expect(redact("e".repeat(all), letter)).toBe("*".repeat(all));
    expect(redact(`${"e".repeat(all)}x`, letter)).toBe("*".repeat(all + 1));
    expect(redact(`${"e".repeat(all)}${"ex".repeat(all)}`, letter)).toBe(`${"*".repeat(all)}<redacted>`);
  });

  test("in pieces masks all of them, so that no secret is lost that goes on in the next piece", () => {
    const redactor = createRedactor([new Secret("~"), approval]);
    const begin = `${"~".repeat(100_001)}\n${APPROVAL.slice(0, 6)}`;
    const pieces = [redactor.push(Buffer.from(begin)), redactor.push(Buffer.from(APPROVAL.slice(6)))];
    const out = Buffer.concat([...pieces, redactor.end()]).toString();
    expect(out).toBe(`${"*".repeat(100_001)}\n<redacted>`);
  });

  test("leaves nothing of secrets that overlap", () => {
    expect(redact("x-abcdefghijkl-y", [new Secret("abcdefgh"), new Secret("efghijkl")])).toBe("x-********-y");
    expect(redact(`${OPERATOR}tail`, [operator, new Secret(`${OPERATOR}tail`)])).toBe("<redacted>");
  });

  test("in pieces has the same outcome, however it is cut", () => {
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom(APPROVAL, OPERATOR, APPROVAL.slice(0, 40), "m", "8c1f", "é", "\n", "x"), {
          maxLength: 12,
        }),
        fc.array(fc.integer({ min: 1, max: 90 }), { minLength: 1, maxLength: 8 }),
        (parts, sizes) => {
          const bytes = Buffer.from(parts.join(""));
          const redactor = createRedactor(both);
          const out: Uint8Array[] = [];
          for (let at = 0, turn = 0; at < bytes.length; turn++) {
            const size = sizes[turn % sizes.length] ?? 1;
            out.push(redactor.push(bytes.subarray(at, at + size)));
            at += size;
          }
          out.push(redactor.end());
          expect(Buffer.concat(out).toString()).toBe(redact(bytes.toString(), both));
        },
      ),
      { numRuns: 300 },
    );
  });

  test("removes a secret that continues beyond a cut, but no letter that merely could begin one", () => {
    const bytes = Buffer.from(`${"x".repeat(10)}${APPROVAL}${"y".repeat(10)}`);
    expect(Buffer.from(redactBytes(bytes, 15, both)).toString()).toBe("xxxxxxxxxx<redacted>");
    expect(Buffer.from(redactBytes(bytes, 10, both)).toString()).toBe("xxxxxxxxxx");
    expect(Buffer.from(redactBytes(Buffer.from("to them, 8c"), 11, both)).toString()).toBe("to them, 8c");
    expect(Buffer.from(redactBytes(Buffer.from("to themselves"), 7, both)).toString()).toBe("to them");
  });
});

describe("redacting what a child says", () => {
  test("removes whole tokens", () => {
    expect(redactSaid(`a ${APPROVAL} b ${OPERATOR}${APPROVAL}${OPERATOR}.`, both)).toBe(
      "a <redacted> b <redacted><redacted><redacted>.",
    );
  });

  test("removes anything with the shape of a daemon token, whoever owns it, or of half of one", () => {
    for (const token of [
      "msa1.eyJ2IjoxLCJzaWQi.bWFj",
      "msc1.eyJ2IjoxLCJzaWQi",
      "msc1.eyJ2IjoxLCJzaWQi.",
      `msa1.${"x".repeat(4_000)}.${"y".repeat(43)}`,
    ]) {
      expect(redactSaid(`it is "${token}", see`, [])).toBe('it is "<redacted>", see');
    }
    const others = "msa1. msb1.abc.def amsc2.x version 1.0 MSA1";
    expect(redactSaid(others, [])).toBe(others);
  });

  test("removes pieces: split over lines, cut, with white space or invisible characters in between", () => {
    for (const token of [APPROVAL, OPERATOR]) {
      for (const size of [16, 20, 32, 64]) {
        for (const between of ["\n", " ", "\u200b", "\u0000", '",\n"']) {
          const pieces = token.match(new RegExp(`.{1,${size}}`, "g")) ?? [];
          const shown = redactSaid(pieces.join(between), both);
          const left = shown.replaceAll("<redacted>", "").replaceAll(between, "");
          // Fewer than 16 characters remain of the last piece, which may be shorter.
          expect(token.endsWith(left)).toBe(true);
          expect(left.length).toBeLessThan(16);
        }
      }
      for (let start = 0; start + 16 <= token.length; start++) {
        for (const length of [16, 17, 23, 31]) {
          const piece = token.slice(start, start + length);
          if (piece.length < 16) continue;
          for (const before of ["", "~", "~~", "~".repeat(7), "~".repeat(11)]) {
            expect(redactSaid(`${before}${piece}~`, both)).toBe(`${before}<redacted>~`);
          }
        }
      }
    }
  });

  test("removes a token with some or all characters percent-encoded", () => {
    const all = [...APPROVAL].map((c) => `%${c.charCodeAt(0).toString(16)}`).join("");
    const upper = all.toUpperCase();
    const dots = APPROVAL.replaceAll(".", "%2E");
    const every = [...OPERATOR].map((c, at) => (at % 3 ? c : `%${c.charCodeAt(0).toString(16)}`)).join("");
    const twice = all.replaceAll("%", "%25");
    const mixed = `${all.slice(0, 90)}${twice.slice(150)}`;
    for (const encoded of [all, upper, dots, every, twice, mixed]) {
      expect(redactSaid(`100%, %41: ${encoded} %zz`, both)).toBe("100%, %41: <redacted> %zz");
    }
    expect(redactSaid("msc1%2eeyJ2IjoxLCJzaWQi%2Eabc&", [])).toBe("<redacted>&");
  });

  test("does not change any other text", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 200 }), (text) => {
        expect(redactSaid(text, both)).toBe(text);
      }),
    );
    const text = "100% of %41 and %2e, operator, eyJ2IjoxLCJz";
    expect(redactSaid(text, both)).toBe(text);
  });

  test("takes little time for a flood, even with the longest possible token", () => {
    const long = new Secret("ab".repeat(4096));
    const flood = `${"ab".repeat(30_000)} ${"m".repeat(30_000)} ${"msa1.".repeat(10_000)} ${"%6d".repeat(20_000)}`;
    expect(redactSaid(flood, [long, ...both]).length).toBeLessThan(flood.length);
  });
});

test("the beginning of a secret, or of a token's shape, is recognized before a cut", () => {
  const partial = (text: string) => partialSecret(text, [operator]);
  expect(partial(`x ${OPERATOR.slice(0, 9)}`)).toBe(9);
  expect(partial(`x ${OPERATOR.slice(1, 9)}`)).toBe(0);
  expect(partial("x ms")).toBe(2);
  expect(partial("x msa1.eyJ2")).toBe(9);
  expect(partial("x msc1.eyJ2.bWF")).toBe(13);
  expect(partial("x msc1.eyJ2.bWF ")).toBe(0);
  expect(partial("")).toBe(0);
});
