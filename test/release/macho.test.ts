import { describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { ROOT } from "../../scripts/compile.ts";
import { entitlementsDer, JIT_ENTITLEMENTS } from "../../scripts/release/entitlements.ts";
import { signAdHoc } from "../../scripts/release/macho-sign.ts";
import { faultsAgainst, type SignatureReport, verifyMachO } from "../../scripts/release/macho-verify.ts";
import { releaseFileName, TARGETS } from "../../scripts/release/targets.ts";
import { VERSION } from "../../src/version.ts";
import { FIELD, LINKEDIT_OFFSET, syntheticMachO } from "../kit/synthetic-macho.ts";

const REQUEST = { identifier: "mur-roost", entitlements: JIT_ENTITLEMENTS };
const EXPECTED = {
  identifier: "mur-roost",
  team: "",
  version: 0x20400,
  flags: 0x2,
  pageSize: 4096,
  entitlements: JIT_ENTITLEMENTS,
};

/** Not a multiple of the page size: the last page is 560 bytes. */
const CONTENT_BYTES = 0x7230;

function sign(contentBytes = CONTENT_BYTES, request = REQUEST): Buffer {
  const signed = signAdHoc(syntheticMachO({ contentBytes }), request);
  if (!signed.ok) throw new Error(signed.fault);
  return signed.value;
}

function report(file: Uint8Array): SignatureReport {
  const read = verifyMachO(file);
  if (typeof read === "string") throw new Error(read);
  return read;
}

/** The verifier's complaints, whether it could report or not. */
function complaints(file: Uint8Array): readonly string[] {
  const read = verifyMachO(file);
  return typeof read === "string" ? [read] : faultsAgainst(read, EXPECTED);
}

describe("signing", () => {
  test("makes an ad-hoc signature that the verifier accepts", () => {
    const signed = report(sign());
    expect(faultsAgainst(signed, EXPECTED)).toEqual([]);
    expect(signed.codeLimit).toBe(CONTENT_BYTES);
    expect(signed.pageHashes).toHaveLength(8);
    expect(signed.executableSegment).toEqual({ base: 0, limit: LINKEDIT_OFFSET, flags: 1 });
  });

  test("hashes the last page at its true length", () => {
    const signed = sign();
    const lastPage = signed.subarray(0x7000, CONTENT_BYTES);
    expect(report(signed).pageHashes.at(-1)).toBe(createHash("sha256").update(lastPage).digest("hex"));
  });

  test("changes nothing in the content but the sizes in its load commands", () => {
    const before = syntheticMachO({ contentBytes: CONTENT_BYTES });
    const signed = sign();
    const changed = Array.from(before.subarray(0, CONTENT_BYTES).keys()).filter(
      (at) => before[at] !== signed[at],
    );
    const allowed = [
      ...range(FIELD.linkeditMemorySize, 8),
      ...range(FIELD.linkeditFileSize, 8),
      ...range(FIELD.signatureSize, 4),
    ];
    expect(changed.filter((at) => !allowed.includes(at))).toEqual([]);
  });

  test("cuts off the rest of a longer old signature, and signing again gives the same bytes", () => {
    const long = signAdHoc(
      syntheticMachO({ contentBytes: CONTENT_BYTES, oldSignatureBytes: 20_000 }),
      REQUEST,
    );
    expect(long).toEqual({ ok: true, value: sign() });
    expect(signAdHoc(sign(), REQUEST)).toEqual({ ok: true, value: sign() });
  });

  test("works for content of any size and for no entitlements", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: LINKEDIT_OFFSET / 16, max: 0x9000 / 16 }),
        fc.boolean(),
        (size, plain) => {
          const entitlements = plain ? [] : JIT_ENTITLEMENTS;
          const signed = sign(size * 16, { ...REQUEST, entitlements });
          expect(faultsAgainst(report(signed), { ...EXPECTED, entitlements })).toEqual([]);
        },
      ),
      { numRuns: 60 },
    );
  });

  test("refuses a file that it cannot sign completely", () => {
    const good = syntheticMachO({ contentBytes: CONTENT_BYTES });
    const refused = (file: Uint8Array, request = REQUEST) => {
      const signed = signAdHoc(file, request);
      return signed.ok ? "signed" : signed.fault;
    };
    expect(refused(Buffer.from("\x7fELF and some more bytes to get past a header"))).toContain("Mach-O");
    expect(refused(Buffer.concat([good, Buffer.from("appended")]))).toContain("do not end at the same byte");
    expect(refused(without(good, 0x1d))).toContain("LC_CODE_SIGNATURE");
    expect(refused(good, { ...REQUEST, identifier: "" })).toContain("identifier");
    for (let length = 0; length < 300; length++) expect(refused(good.subarray(0, length))).not.toBe("signed");
  });
});

describe("verifying", () => {
  test("finds any one byte changed, in the content or in the signature", () => {
    const signed = sign();
    // Behind the super blob is padding, the only bytes without a meaning.
    const end = CONTENT_BYTES + signed.readUInt32BE(CONTENT_BYTES + 4);
    for (let at = 0; at < end; at += at < CONTENT_BYTES ? 97 : 1) {
      const changed = Buffer.from(signed);
      changed.writeUInt8(signed.readUInt8(at) ^ 1, at);
      if (complaints(changed).length === 0) throw new Error(`byte ${at} was changed without a complaint`);
    }
  });

  test("finds a file that was cut, appended to, or signed for other content", () => {
    const signed = sign();
    expect(complaints(signed.subarray(0, -1))).not.toEqual([]);
    expect(complaints(signed.subarray(0, CONTENT_BYTES))).not.toEqual([]);
    expect(complaints(Buffer.concat([signed, Buffer.of(0)])).join()).toContain("__LINKEDIT ends at");
    const other = sign(CONTENT_BYTES + 16);
    const mixed = Buffer.concat([other.subarray(0, CONTENT_BYTES + 16), signed.subarray(CONTENT_BYTES)]);
    expect(complaints(mixed).join()).toContain("the code limit is");
  });

  test("reports an identifier, flags or entitlements that are not the expected ones", () => {
    const plain = report(sign(CONTENT_BYTES, { identifier: "bun", entitlements: [] }));
    expect(plain.faults).toEqual([]);
    expect(faultsAgainst(plain, { ...EXPECTED, flags: 0x10000 })).toEqual([
      "identifier is 'bun', expected 'mur-roost'",
      "flags is '2', expected '65536'",
      `the entitlements are [], expected [${JIT_ENTITLEMENTS.join(", ")}]`,
    ]);
  });

  test("reports any damage without throwing", () => {
    const signed = sign();
    const damage = fc.array(
      fc.tuple(fc.integer({ min: 0, max: signed.length - 1 }), fc.integer({ max: 255, min: 0 })),
      {
        minLength: 1,
        maxLength: 8,
      },
    );
    fc.assert(
      fc.property(damage, fc.integer({ min: 0, max: signed.length }), (writes, length) => {
        const damaged = Buffer.from(signed);
        for (const [at, value] of writes) damaged.writeUInt8(value, at);
        expect(() => verifyMachO(damaged.subarray(0, length))).not.toThrow();
        expect(() => signAdHoc(damaged.subarray(0, length), REQUEST)).not.toThrow();
      }),
      { numRuns: 300 },
    );
  });
});

describe("what Apple's codesign writes", () => {
  // From the code directory of Bun 1.4.5 for macOS, signed by its makers: special slots -7 and, of any ad-hoc
  // signature, -2.
  test("the DER of the runtime's five entitlements has the hash that its code directory names", () => {
    const keys = [
      "com.apple.security.cs.allow-jit",
      "com.apple.security.cs.allow-unsigned-executable-memory",
      "com.apple.security.cs.disable-executable-page-protection",
      "com.apple.security.cs.allow-dyld-environment-variables",
      "com.apple.security.cs.disable-library-validation",
    ];
    const der = entitlementsDer(keys);
    const header = Buffer.alloc(8);
    header.writeUInt32BE(0xfade7172, 0);
    header.writeUInt32BE(8 + der.length, 4);
    expect(createHash("sha256").update(header).update(der).digest("hex")).toBe(
      "f84d5cd4734acc2254adafdd10c71820a9c26d36d65b82833e71df8b20b36a4b",
    );
  });

  test("the empty requirements have the hash that every ad-hoc code directory names", () => {
    expect(sign().toHex()).toContain("987920904eab650e75788c054aa0b0524e6a80bfc71aa32df8d237a61743f986");
  });
});

for (const target of TARGETS.filter(({ format }) => format === "mach-o")) {
  const file = join(ROOT, "dist/release", releaseFileName(VERSION, target));
  const soundness = () => {
    const bytes = readFileSync(file);
    const sound = report(bytes);
    expect(faultsAgainst(sound, EXPECTED)).toEqual([]);
    // Far into the compiled program, where the runtime's own signature would not have looked.
    bytes.writeUInt8(bytes.readUInt8(sound.codeLimit - 5) ^ 1, sound.codeLimit - 5);
    expect(report(bytes).faults).toEqual([
      `1 of ${sound.pageHashes.length} page hashes do not match the file`,
    ]);
  };
  // A hundred megabytes are read and hashed twice, possibly on a busy machine.
  test.skipIf(!existsSync(file))(`the released ${target.platform} file is sound`, soundness, 60_000);
}

function range(from: number, length: number): number[] {
  return Array.from({ length }, (_, index) => from + index);
}

/** The same file with one kind of load command renamed to one that means nothing here. */
function without(file: Uint8Array, command: number): Uint8Array {
  const copy = Buffer.from(file);
  for (let at = 32, left = copy.readUInt32LE(16); left > 0; left--) {
    if (copy.readUInt32LE(at) === command) copy.writeUInt32LE(0x7fff, at);
    at += copy.readUInt32LE(at + 4);
  }
  return copy;
}
