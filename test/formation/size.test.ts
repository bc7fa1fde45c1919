import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { formationText, inspectFormation } from "../../src/formation/index.ts";
import { scratchDirectory } from "../kit/scratch.ts";
import { spawns, type TestRegistry, testRegistry, treeText } from "./kit.ts";

const MAIN = join(import.meta.dir, "../../src/cli/formation/main.ts");

/** Every capsule lists every other, itself too: nothing is refused, and every way leads round. */
async function knot(registry: TestRegistry, size: number): Promise<string[]> {
  const names = Array.from({ length: size }, (_, index) => `local/c${index}`);
  for (const name of names) await registry.publish(`${name}@1.0.0`, spawns(...names));
  return names;
}

describe("a large registry", () => {
  test("of 1,000 names in a cycle is followed to an end", async () => {
    using registry = testRegistry();
    const names = Array.from({ length: 1000 }, (_, index) => `local/c${index}`);
    // A capsule can start only those that list no more than it does: a circle needs equal lists.
    for (const [index, name] of names.entries()) {
      const first = index - (index % 10);
      await registry.publish(`${name}@1.0.0`, spawns(...names.slice(first, first + 10)));
    }
    await registry.publish("local/root@1.0.0", spawns(...names));
    const limits = { maxDepth: 4294967295, maxConcurrent: 2, maxLiveCapsules: 4294967295 };
    const { capsules, summary } = await registry.inspect("local/root@1.0.0", { limits });
    expect(capsules).toHaveLength(1001);
    expect(summary.granted).toBe(11_000);
    // One circle of ten, each capsule once.
    expect(summary.deepest_chain.capsules).toHaveLength(11);
    expect(summary.live_at_worst.these_manifests).toBe(4294967295);
  });

  test("is printed with each subtree once: one line per pair, and one for the root", async () => {
    using registry = testRegistry();
    await knot(registry, 30);
    const formation = await registry.inspect("local/c0@1.0.0", { limits: { maxDepth: 1000 } });
    expect(formation.edges).toHaveLength(900);
    expect(treeText(formation)).toHaveLength(901);
  });

  test("with a long chain is followed to its end and drawn", async () => {
    using registry = testRegistry();
    const names = Array.from({ length: 150 }, (_, index) => `local/c${index}`);
    for (const [index, name] of names.entries()) {
      await registry.publish(`${name}@1.0.0`, spawns(...names.slice(index + 1)));
    }
    const limits = { maxDepth: 1000 };
    const reading = await inspectFormation({ root: "local/c0@1.0.0", registryPath: registry.path, limits });
    if (!reading.ok) throw new Error(reading.fault);
    expect(reading.formation.summary.deepest_chain.capsules).toHaveLength(150);
    let lines = 0;
    for (const _ of formationText(reading.formation)) lines++;
    expect(lines).toBeGreaterThan(reading.formation.edges.length);
  });
});

test.skipIf(!Bun.which("strace"))("each artifact is opened once, even if many list it", async () => {
  using registry = testRegistry();
  using scratch = scratchDirectory();
  const names = await knot(registry, 10);
  await registry.publish("local/c3@1.1.0", { shell: { allow: ["git"] } });
  const trace = join(scratch.path, "trace");
  const command = [process.execPath, MAIN, "local/c0@1.0.0", "--registry-path", registry.path];
  const child = Bun.spawn(["strace", "-f", "-qq", "-e", "trace=open,openat", "-o", trace, ...command], {
    stdio: ["ignore", "ignore", "ignore"],
  });
  expect(await child.exited).toBe(1);
  const opened = readFileSync(trace, "utf8").match(/[^/"]+\.mur\.zip(?=")/g) ?? [];
  const archives = [
    ...names.map((name) => `${name.slice("local/".length)}-1.0.0.mur.zip`),
    "c3-1.1.0.mur.zip",
  ];
  expect([...opened].sort()).toEqual(archives.sort());
});
