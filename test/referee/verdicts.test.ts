import { expect, test } from "bun:test";
import { AXES, excesses, knownExcesses } from "../../src/referee/axes.ts";
import { type Envelope, lowerManifest } from "../../src/referee/envelope.ts";
import { readManifest } from "../../src/registry/manifest.ts";
import { atOnce, inSlices } from "../../src/slices.ts";

function manifestOf(capabilities: string) {
  const reading = readManifest(`name: a\nversion: "1"\ncapabilities:\n${capabilities}`);
  if (!reading.ok) throw new Error(reading.fault);
  return reading.manifest;
}

const envelopeOf = (capabilities: string): Envelope => atOnce(lowerManifest(manifestOf(capabilities)));
const many = (extra = "") =>
  `  shell: {allow: [${Array.from({ length: 30_000 }, (_, index) => `b${index}`).join(",")}${extra}]}\n`;

test("two ordinary envelopes are compared at once, and a second comparison reuses the verdict", () => {
  const pair = () =>
    [envelopeOf("  shell: {allow: [git]}\n"), envelopeOf("  shell: {allow: [jq]}\n")] as const;
  // A busy machine may take the whole of one turn away, and not of every one.
  const tries = Array.from({ length: 100 }, pair);
  const [parent, child] =
    tries.find(([one, other]) => !(knownExcesses(one, other) instanceof Promise)) ?? pair();
  const verdict = knownExcesses(parent, child);
  expect(verdict).toEqual(atOnce(excesses(parent, child)));
  expect(knownExcesses(parent, child)).toBe(verdict);
});

test("an envelope does not exceed itself on any axis", async () => {
  const held = envelopeOf("  shell: {allow: [git]}\n");
  expect(await knownExcesses(held, held)).toEqual([]);
});

test("two large envelopes are compared in slices, once for all callers, and the verdict is remembered", async () => {
  const [parent, child] = [envelopeOf(many()), envelopeOf(many(",extra"))];
  const first = knownExcesses(parent, child);
  expect(first).toBeInstanceOf(Promise);
  expect(knownExcesses(parent, child)).toBe(first);
  const verdict = await first;
  expect(verdict.map(({ key, entry }) => [key, entry])).toEqual([["capabilities.shell.allow", "extra"]]);
  expect(knownExcesses(parent, child)).toBe(verdict);
});

test("a large manifest is lowered in slices", async () => {
  const lowering = inSlices(lowerManifest(manifestOf(many())));
  expect(lowering).toBeInstanceOf(Promise);
  expect((await lowering).shellAllow.entries).toHaveLength(30_000);
});

test("equal entries are kept once, in the order of their first occurrence", () => {
  const held = envelopeOf(
    "  network: {allow: [b.example, a.example, b.example]}\n  env: {allow: [B, A, B]}\n",
  );
  expect(held.networkAllow.entries).toEqual(["b.example", "a.example"]);
  expect(held.envAllow.entries).toEqual(["B", "A"]);
});

test("each exceeded axis is named once, with the first entry that exceeds it", () => {
  const parent = envelopeOf("  shell: {allow: [git]}\n");
  const child = envelopeOf("  shell: {allow: [git, jq, bash]}\n  env: {allow: [B, A]}\n");
  expect(atOnce(excesses(parent, child)).map(({ key, entry }) => `${key} ${entry}`)).toEqual([
    "capabilities.shell.allow jq",
    "capabilities.env.allow B",
  ]);
});

test("twelve axes are checked, in this order", () => {
  expect(AXES.map(({ key, kind }) => `${key.replace("capabilities.", "")} ${kind}`)).toEqual([
    "network.allow list",
    "network.unix_sockets flag",
    "peer_fetch.allow list",
    "shell.allow list",
    "spawn.allow list",
    "env.allow list",
    "filesystem.scope scope",
    "filesystem.workdir_exec flag",
    "state.store list",
    "install.skill list",
    "install.tool list",
    "containment floor",
  ]);
});

test("lowering can pause at each entry, and twice at an indexed one", () => {
  const pauses = (capabilities: string) => [...lowerManifest(manifestOf(capabilities))].length;
  expect(pauses("  shell: {allow: [a, b, c]}\n")).toBe(3);
  expect(pauses("  network: {allow: [a.example, b.example, a.example]}\n")).toBe(5);
});
