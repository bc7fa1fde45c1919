import { expect, test } from "bun:test";
import { type Refusal, refusalMessage, refusalStage, refusalStatus } from "../../src/api/refusals.ts";
import type { ArtifactVersion, Sha256 } from "../../src/registry/artifact-name.ts";
import { nameOf } from "../kit/in-process.ts";

const asked = { name: nameOf("local/a"), version: "0.1.0" as ArtifactVersion };
const granted = { name: nameOf("local/b"), version: "0.2.0" as ArtifactVersion };
const sha256 = (digit: string) => digit.repeat(64) as Sha256;

/** Each kind of refusal with its status. The messages of some are tested where they arise. */
const REFUSALS: { readonly [Kind in Refusal["kind"]]: readonly [Extract<Refusal, { kind: Kind }>, number] } =
  {
    "not-found": [{ kind: "not-found" }, 404],
    "session-not-found": [{ kind: "session-not-found" }, 404],
    "foreign-caller": [{ kind: "foreign-caller", why: "friends" }, 403],
    "body-too-large": [{ kind: "body-too-large", maxBytes: 7 }, 413],
    "body-too-slow": [{ kind: "body-too-slow", seconds: 7 }, 408],
    "body-ended-early": [{ kind: "body-ended-early" }, 400],
    "bad-body": [{ kind: "bad-body", what: "it is wrong" }, 400],
    "bad-outcome": [{ kind: "bad-outcome", outcome: "x" }, 400],
    "caller-left": [{ kind: "caller-left" }, 400],
    identity: [{ kind: "identity" }, 403],
    "not-in-parent-allow": [{ kind: "not-in-parent-allow", name: "local/a" }, 403],
    "not-in-spawn-allow": [{ kind: "not-in-spawn-allow", name: "local/a" }, 403],
    bound: [{ kind: "bound", bound: "depth", limit: 3, held: 0 }, 403],
    envelope: [{ kind: "envelope", excesses: [{ key: "k", entry: "e", error: "k: too much" }] }, 403],
    unresolved: [{ kind: "unresolved", message: "not there" }, 500],
    "approval-expired": [{ kind: "approval-expired" }, 403],
    "approval-redeemed": [{ kind: "approval-redeemed" }, 403],
    "approval-other-coordinates": [{ kind: "approval-other-coordinates", granted, asked }, 403],
    "approval-other-bytes": [
      { kind: "approval-other-bytes", asked, approved: sha256("a"), resolved: sha256("b") },
      403,
    ],
    internal: [{ kind: "internal" }, 500],
  };

test.each(Object.entries(REFUSALS))("%s has its status and a sentence", (_, [refusal, status]) => {
  expect(refusalStatus(refusal)).toBe(status as never);
  expect(refusalMessage(refusal)).toMatch(/^[a-z'].*\S$/);
});

test("a request was judged, unless its body is not valid or was not read to its end", () => {
  const at = (stage: ReturnType<typeof refusalStage>) =>
    Object.values(REFUSALS).flatMap(([refusal]) => (refusalStage(refusal) === stage ? [refusal.kind] : []));
  expect(at("unread")).toEqual([
    "not-found",
    "foreign-caller",
    "body-too-large",
    "body-too-slow",
    "body-ended-early",
    "internal",
  ]);
  expect(at("body")).toEqual(["bad-body", "bad-outcome"]);
  expect(at("decision")).toHaveLength(Object.keys(REFUSALS).length - 8);
});

test.each([
  [REFUSALS["not-found"], "not found"],
  [REFUSALS["session-not-found"], "session not found"],
  [REFUSALS["foreign-caller"], "refused before it was read: this daemon answers only friends"],
  [REFUSALS["body-too-large"], "the body is larger than 7 bytes"],
  [REFUSALS["body-too-slow"], "the body did not arrive within 7 seconds"],
  [REFUSALS["body-ended-early"], "the body ended before all of it had arrived"],
  [REFUSALS["bad-body"], "it is wrong"],
  [
    REFUSALS["caller-left"],
    "the connection was closed before this request was answered, so nothing was done",
  ],
  [REFUSALS.envelope, "k: too much"],
  [REFUSALS.unresolved, "not there"],
  [REFUSALS.internal, "the daemon failed to answer this request"],
] as const)("%j has exactly this message", ([refusal], message) => {
  expect(refusalMessage(refusal)).toBe(message);
});

test("an outcome is quoted up to 64 characters, on one line", () => {
  const said = (outcome: string) => refusalMessage({ kind: "bad-outcome", outcome });
  const whole = "x".repeat(64);
  expect(said("done")).toBe("outcome 'done' is not 'complete' or 'failed'");
  expect(said(whole)).toBe(`outcome '${whole}' is not 'complete' or 'failed'`);
  expect(said(`${whole}y`)).toBe(`outcome '${whole}…' is not 'complete' or 'failed'`);
  const emoji = "😀".repeat(64);
  expect(said(emoji)).toBe(`outcome '${emoji}' is not 'complete' or 'failed'`);
  for (const more of ["y", "😀", "y".repeat(1000)])
    expect(said(`${emoji}${more}`)).toBe(`outcome '${emoji}…' is not 'complete' or 'failed'`);
  expect(said("a\nb")).not.toContain("\n");
});
