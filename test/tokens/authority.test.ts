import { describe, expect, test } from "bun:test";
import { randomBytes } from "node:crypto";
import type { ArtifactVersion, Sha256 } from "../../src/registry/artifact-name.ts";
import { createAuthority } from "../../src/tokens/authority.ts";
import { createSeal } from "../../src/tokens/seal.ts";
import { nameOf } from "../kit/in-process.ts";

const grant = {
  sid: "ses_a",
  name: nameOf("local/worker"),
  version: "0.1.0" as ArtifactVersion,
  digest: "d".repeat(64) as Sha256,
  depth: 2,
};
const payloadOf = (token: string) => Buffer.from(token.split(".")[1] ?? "", "base64url").toString();
const create = () => createAuthority({ randomBytes, wall: () => 1_000 });

describe("the authority", () => {
  const authority = create();

  test("seals a credential's keys in their order", () => {
    const token = authority.mintCredential("ses_a");
    expect(token).toStartWith("msc1.");
    expect(payloadOf(token)).toMatch(/^\{"v":1,"sid":"ses_a","n":"[0-9a-f]{32}"\}$/);
    expect(authority.verifyCredential(token)).toBe("ses_a");
  });

  test("seals an approval's keys in their order, 60 seconds from now", () => {
    const { token } = authority.mintApproval(grant);
    expect(token).toStartWith("msa1.");
    expect(payloadOf(token)).toMatch(
      /^\{"v":1,"sid":"ses_a","name":"local\/worker","version":"0\.1\.0","digest":"d{64}","depth":2,"exp":61000,"jti":"[0-9a-f]{32}"\}$/,
    );
    expect(authority.verifyApproval(token)).toMatchObject({ sid: "ses_a", depth: 2, exp: 61_000 });
  });

  test("gives each of 10,000 tokens a different nonce of 16 bytes", () => {
    const nonces = new Set<string>();
    for (let minted = 0; minted < 5_000; minted++) {
      nonces.add(JSON.parse(payloadOf(authority.mintCredential("ses_a"))).n);
      const { token, approval } = authority.mintApproval(grant);
      expect(JSON.parse(payloadOf(token)).jti).toBe(approval.jti);
      nonces.add(approval.jti);
    }
    expect(nonces.size).toBe(10_000);
    for (const nonce of nonces) expect(nonce).toMatch(/^[0-9a-f]{32}$/);
  });

  test("requests two keys of 32 bytes, and 16 for the nonce of each token", () => {
    const asked: number[] = [];
    const counted = createAuthority({
      randomBytes(length) {
        asked.push(length);
        return randomBytes(length);
      },
      wall: () => 0,
    });
    expect(asked).toEqual([32, 32]);
    counted.mintCredential("ses_a");
    counted.mintApproval(grant);
    expect(asked).toEqual([32, 32, 16, 16]);
  });

  test("never accepts a token of one family as the other, whatever its tag", () => {
    const credential = authority.mintCredential("ses_a");
    const { token: approval } = authority.mintApproval(grant);
    expect(authority.verifyApproval(credential)).toBeUndefined();
    expect(authority.verifyCredential(approval)).toBeUndefined();
    expect(authority.verifyCredential(approval.replace("msa1", "msc1"))).toBeUndefined();
    expect(authority.verifyApproval(credential.replace("msc1", "msa1"))).toBeUndefined();
  });

  test("refuses another daemon's tokens, and its own once its keys are destroyed", () => {
    expect(authority.verifyCredential(create().mintCredential("ses_a"))).toBeUndefined();
    const ended = create();
    const token = ended.mintCredential("ses_a");
    const { token: approval } = ended.mintApproval(grant);
    ended.destroy();
    expect(ended.verifyCredential(token)).toBeUndefined();
    expect(ended.verifyApproval(approval)).toBeUndefined();
  });

  test("refuses a payload of another version or one that is not JSON, even with a right MAC", () => {
    const keys = new Uint8Array(32).fill(1);
    const fixed = createAuthority({ randomBytes: () => keys.slice(), wall: () => 0 });
    const seal = createSeal("msc1", "murmur-spawn-credential-v1", keys.slice());
    expect(fixed.verifyCredential(seal.seal('{"v":1,"sid":"ses_a"}'))).toBe("ses_a");
    expect(fixed.verifyCredential(seal.seal('{"v":2,"sid":"ses_a"}'))).toBeUndefined();
    expect(fixed.verifyCredential(seal.seal("ses_a"))).toBeUndefined();
    const approvals = createSeal("msa1", "murmur-spawn-approval-v1", keys.slice());
    expect(fixed.verifyApproval(approvals.seal('{"v":1,"sid":"ses_a"}'))).toMatchObject({ sid: "ses_a" });
  });
});
