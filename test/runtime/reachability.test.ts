import { expect, test } from "bun:test";
import { join } from "node:path";

const root = join(import.meta.dir, "../..");

/** Every module that a program of these entry points consists of, as the bundler sees it. */
async function modulesOf(entry: string): Promise<string[]> {
  const built = await Bun.build({
    entrypoints: [join(root, entry)],
    target: "bun",
    external: ["*.node"],
    metafile: true,
    throw: false,
  });
  expect(built.success).toBe(true);
  return Object.keys(built.metafile?.inputs ?? {});
}

test("the daemon contains nothing of the runtime library", async () => {
  const daemon = await modulesOf("src/main.ts");
  expect(daemon.some((path) => path.endsWith("src/daemon.ts"))).toBe(true);
  expect(daemon.filter((path) => path.includes("src/runtime/"))).toEqual([]);
  // The same question about a program that has the opposite answer.
  const runtime = await modulesOf("src/runtime/index.ts");
  expect(runtime.some((path) => path.endsWith("src/runtime/launch/launch.ts"))).toBe(true);
});
