/** Who asks decides who waits, and whose memory is used. */

import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ArtifactVersion } from "../../src/registry/artifact-name.ts";
import { LANES } from "../../src/registry/lanes.ts";
import { type ManifestReading, readManifest } from "../../src/registry/manifest.ts";
import { Registry } from "../../src/registry/registry.ts";
import { publishCapsule } from "../kit/host.ts";
import { nameOf } from "../kit/in-process.ts";
import { until } from "../kit/until.ts";

let path: string;
/** The manifests that were read, by name. */
let read: string[];
/** Readings wait for it, if it is set. */
let gate: Promise<void> | undefined;

beforeEach(() => {
  path = mkdtempSync(join(tmpdir(), "mur-roost-askers-"));
  read = [];
  gate = undefined;
});
afterEach(() => rmSync(path, { recursive: true }));

const create = (options: { capacity?: number; now?: () => number } = {}) =>
  new Registry({
    path,
    readManifest: async (source): Promise<ManifestReading> => {
      read.push(/name: (\S+)/.exec(source)?.[1] ?? "");
      await gate;
      return readManifest(source);
    },
    lower: async (manifest) => manifest.name,
    now: () => Date.now() + 1000,
    ...options,
  });
const named = (name: string) => ({ name: nameOf(`local/${name}`), version: "0.1.0" as ArtifactVersion });
const publishMany = async (prefix: string, count: number) => {
  const names = Array.from({ length: count }, (_, index) => `${prefix}${index}`);
  for (const name of names) await publishCapsule(path, `local/${name}`);
  return names;
};
/** A clock that stands at the last change of this artifact. */
const justChanged = (name: string) => {
  const { ctimeMs } = statSync(join(path, `local/${name}/0.1.0/${name}-0.1.0.sha256`));
  return () => ctimeMs;
};
const readsOf = (name: string) => read.filter((one) => one === name).length;

test("artifacts used with a token are never evicted by callers without one", async () => {
  const registry = create();
  await publishCapsule(path, "local/mine");
  const crowd = await publishMany("x", LANES.listed.kept + LANES.other.kept + 1);
  await registry.resolve(named("mine"), "verified");
  for (const asker of ["listed", "other"] as const) {
    for (const name of crowd) await registry.resolve(named(name), asker);
  }
  await registry.resolve(named("mine"), "verified");
  expect(readsOf("mine")).toBe(1);
  // The others remember so many, the last that were asked for.
  await registry.resolve(named(crowd.at(-1) ?? ""), "other");
  expect(readsOf(crowd.at(-1) ?? "")).toBe(1);
  await registry.resolve(named("x0"), "other");
  expect(readsOf("x0")).toBe(3);
});

test("artifacts read without a token serve all callers, and are kept once a token asks for them", async () => {
  const registry = create();
  await publishCapsule(path, "local/mine");
  await registry.resolve(named("mine"), "other");
  await registry.resolve(named("mine"), "verified");
  for (const name of await publishMany("x", LANES.other.kept)) await registry.resolve(named(name), "other");
  await registry.resolve(named("mine"), "verified");
  await registry.resolve(named("mine"), "other");
  expect(readsOf("mine")).toBe(1);
});

test("what was read for a caller with a token is not kept for one without", async () => {
  const registry = create({ capacity: 1 });
  for (const name of ["mine", "next"]) await publishCapsule(path, `local/${name}`);
  for (const asker of ["verified", "other"] as const) await registry.resolve(named("mine"), asker);
  expect(readsOf("mine")).toBe(1);
  await registry.resolve(named("next"), "verified");
  await registry.resolve(named("mine"), "other");
  expect(readsOf("mine")).toBe(2);
});

test("a bad artifact is not read again and again, for any caller", async () => {
  const registry = create();
  await publishCapsule(path, "local/bad", "x: [\n");
  for (const asker of ["other", "other", "listed", "verified"] as const) {
    expect(await registry.resolve(named("bad"), asker)).toMatchObject({ ok: false });
  }
  expect(readsOf("bad")).toBe(1);
});

test("callers without a token wait in a short queue, and a caller with one waits for none of them", async () => {
  const registry = create();
  const opened = Promise.withResolvers<void>();
  gate = opened.promise;
  const names = await publishMany("x", LANES.other.atOnce + LANES.other.waiting + 1);
  await publishCapsule(path, "local/mine");
  const asked = names.map((name) => registry.resolve(named(name), "other"));
  expect(asked.pop()).toEqual({
    ok: false,
    message: `registry error for 'local/${names.at(-1)}/0.1.0': busy; ask again`,
  });
  // A reading takes a turn, and more where a busy machine takes the time away from its slices.
  await until("one is being read", () => read.length > 0);
  expect(read).toEqual(["x0"]);
  const last = names.at(-2) ?? "";
  const mine = [registry.resolve(named("mine"), "verified"), registry.resolve(named(last), "verified")];
  const listed = registry.resolve(named("x1"), "listed");
  await until("three more are being read", () => read.length > 3);
  expect(read.slice(1).sort()).toEqual(["mine", last, "x1"].sort());
  opened.resolve();
  expect(await Promise.all([...mine, listed])).toMatchObject([{ ok: true }, { ok: true }, { ok: true }]);
  expect(await Promise.all(asked)).toMatchObject(asked.map(() => ({ ok: true })));
  expect(await registry.resolve(named(names.at(-1) ?? ""), "other")).toMatchObject({ ok: true });
});

test("callers without a token share a reading that is under way for one with a token", async () => {
  const registry = create();
  const opened = Promise.withResolvers<void>();
  gate = opened.promise;
  await publishCapsule(path, "local/mine");
  const mine = registry.resolve(named("mine"), "verified");
  const theirs = registry.resolve(named("mine"), "other");
  opened.resolve();
  expect(await theirs).toBe(await mine);
  expect(readsOf("mine")).toBe(1);
});

test.each([
  ["other", "other"],
  ["listed", "other"],
  ["listed", "listed"],
] as const)(
  "a reading for a caller of the kind %p is shared by a later one of the kind %p",
  async (first, later) => {
    const registry = create();
    const opened = Promise.withResolvers<void>();
    gate = opened.promise;
    await publishCapsule(path, "local/mine");
    const asked = registry.resolve(named("mine"), first);
    await until("it is being read", () => read.length > 0);
    const shared = registry.resolve(named("mine"), later);
    opened.resolve();
    expect(await shared).toBe(await asked);
    expect(readsOf("mine")).toBe(1);
  },
);

test.each(["listed", "other"] as const)(
  "a caller with a token does not share one for the kind %p",
  async (first) => {
    const registry = create();
    const opened = Promise.withResolvers<void>();
    gate = opened.promise;
    await publishCapsule(path, "local/mine");
    const asked = [registry.resolve(named("mine"), first)];
    await until("it is being read", () => read.length > 0);
    asked.push(registry.resolve(named("mine"), "verified"));
    await until("it is being read once more", () => read.length > 1);
    opened.resolve();
    expect(await Promise.all(asked)).toMatchObject([{ ok: true }, { ok: true }]);
  },
);

test("a reading of files that may change and keep their times is not for those who ask later", async () => {
  await publishCapsule(path, "local/mine");
  const registry = create({ now: justChanged("mine") });
  const opened = Promise.withResolvers<void>();
  gate = opened.promise;
  const asked = [registry.resolve(named("mine"))];
  await until("it is being read", () => read.length > 0);
  asked.push(registry.resolve(named("mine")));
  opened.resolve();
  expect(await Promise.all(asked)).toMatchObject([{ ok: true }, { ok: true }]);
  expect(readsOf("mine")).toBe(2);

  // Those who came meanwhile share what is read after them: a crowd costs no more than two readings more.
  const next = Promise.withResolvers<void>();
  gate = next.promise;
  const first = registry.resolve(named("mine"));
  await until("it is being read", () => readsOf("mine") === 3);
  const crowd = Array.from({ length: 20 }, () => registry.resolve(named("mine")));
  next.resolve();
  expect(await Promise.all([first, ...crowd])).toMatchObject(
    Array.from({ length: 21 }, () => ({ ok: true })),
  );
  expect(readsOf("mine")).toBeLessThanOrEqual(5);
});

test("a reading that waits is for everybody who asks before it begins, and then is one reading", async () => {
  const names = await publishMany("x", LANES.listed.atOnce + 1);
  const last = names.at(-1) ?? "";
  const now = justChanged(last);
  const registry = create({ now });
  const opened = Promise.withResolvers<void>();
  gate = opened.promise;
  const asked = names.map((name) => registry.resolve(named(name), "listed"));
  await until("the others are being read", () => read.length === LANES.listed.atOnce);
  asked.push(registry.resolve(named(last), "listed"));
  await new Promise((turn) => setImmediate(turn));
  asked.push(registry.resolve(named(last), "listed"));
  opened.resolve();
  expect(await Promise.all(asked)).toMatchObject(asked.map(() => ({ ok: true })));
  expect(readsOf(last)).toBe(1);
});

test("a reading that failed with an exception is forgotten", async () => {
  const registry = create();
  await publishCapsule(path, "local/mine");
  const opened = Promise.withResolvers<void>();
  gate = opened.promise;
  const failed = registry.resolve(named("mine"), "verified");
  await until("it is being read", () => read.length > 0);
  opened.reject(new Error("out of memory"));
  await expect(failed).rejects.toThrow("out of memory");
  gate = undefined;
  expect(await registry.resolve(named("mine"), "verified")).toMatchObject({ ok: true });
});
