/** What the documents show of `npm run formation` is what it prints, on the demo's registry. */

import { describe, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { packCapsule } from "../kit/publish.ts";
import { scratchDirectory } from "../kit/scratch.ts";
import { shared } from "../kit/shared.ts";
import { testRegistry } from "./kit.ts";

const ROOT = join(import.meta.dir, "../..");
const CAPSULES = join(ROOT, "examples/capsules");
const PAGE = readFileSync(join(ROOT, "docs/formation.md"), "utf8");
const README = readFileSync(join(ROOT, "README.md"), "utf8");

/** Where the page puts the demo's registry. */
const REGISTRY = "/tmp/demo";

const registry = shared(async (undo) => {
  const made = undo.use(testRegistry());
  for (const name of readdirSync(CAPSULES)) {
    const manifest = readFileSync(join(CAPSULES, name, "murmur.yaml"));
    made.publishBytes(`local/${name}@1.0.0`, await packCapsule({ "murmur.yaml": manifest }));
  }
  return made;
});

/** Commands, and the block that follows them. */
interface Shown {
  readonly commands: string;
  readonly output: string;
}

function shownIn(text: string): Shown[] {
  const pairs = /```sh\n((?:npm run formation .*\n)+)```\n\n```(?:text|mermaid)\n([\s\S]*?)```\n/g;
  return [...text.matchAll(pairs)].map(([, commands = "", output = ""]) => ({ commands, output }));
}

/** Runs them as a shell would, in a folder of their own, on the demo's registry. */
function printed(commands: string): string {
  const program = `${process.execPath} ${join(ROOT, "src/cli/formation/main.ts")}`;
  const script = commands.replaceAll("npm run formation -s --", program).replaceAll(REGISTRY, '"$REGISTRY"');
  const { stdout, stderr } = Bun.spawnSync(["sh", "-c", script], {
    cwd: registry().path,
    env: { REGISTRY: registry().path, BUN_RUNTIME_TRANSPILER_CACHE_PATH: "0" },
  });
  expect(stderr.toString()).toBe("");
  return stdout.toString();
}

describe("docs/formation.md", () => {
  test.each(shownIn(PAGE).map((shown) => [shown.commands, shown] as const))(
    "shows the output of %s",
    (_, { commands, output }) => {
      expect(printed(commands)).toBe(output);
    },
  );

  test("shows every block of the output, and the README shows one of them", () => {
    const blocks = [...PAGE.matchAll(/^```(\w+)$/gm)].map(([, language]) => language);
    // The first one makes the registry.
    expect(blocks.filter((language) => language === "sh")).toHaveLength(1 + shownIn(PAGE).length);
    expect(blocks.filter((language) => language === "text" || language === "mermaid")).toHaveLength(
      shownIn(PAGE).length,
    );
    const picture = shownIn(PAGE).find(({ output }) => output.startsWith("flowchart"));
    expect(README).toContain(`\`\`\`mermaid\n${picture?.output}\`\`\`\n`);
  });

  test("makes the registry that its commands read, and that of the README", () => {
    const [, command = ""] = /```sh\n(for .*\n)```\n/.exec(PAGE) ?? [];
    expect(README).toContain(command);
    using made = scratchDirectory();
    const script = command
      .replace("npm run pack -s --", `${process.execPath} scripts/pack.ts`)
      .replace(REGISTRY, '"$REGISTRY"');
    const { exitCode } = Bun.spawnSync(["sh", "-c", script], { cwd: ROOT, env: { REGISTRY: made.path } });
    expect(exitCode).toBe(0);
    expect(readdirSync(join(made.path, "local")).sort()).toEqual(readdirSync(CAPSULES).sort());
  });

  test("has a program that prints the tree that it shows", async () => {
    const [, program = ""] = /```ts\n([\s\S]*?)```\n/.exec(PAGE) ?? [];
    const entry = join(ROOT, "src/formation/index.ts");
    const runnable = program.replace("mur-roost/formation", entry).replace("/srv/registry", registry().path);
    const child = Bun.spawnSync([process.execPath, "-e", runnable]);
    expect([child.exitCode, child.stderr.toString()]).toEqual([1, ""]);
    const tree = shownIn(PAGE)[0]?.output.split("\n\n")[0] ?? "";
    expect(child.stdout.toString()).toStartWith(tree);
  });
});
