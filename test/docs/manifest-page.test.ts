/** docs/manifest.md: making a capsule as it says works, and what it says covers what is so. */

import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { AXES, excesses } from "../../src/referee/axes.ts";
import { type Envelope, lowerManifest } from "../../src/referee/envelope.ts";
import { parseArtifactName, parseArtifactVersion } from "../../src/registry/artifact-name.ts";
import { readManifest } from "../../src/registry/manifest.ts";
import { Registry } from "../../src/registry/registry.ts";
import { atOnce } from "../../src/slices.ts";
import { blocksOf, documents, ROOT } from "../kit/documents.ts";
import { scratchDirectory } from "../kit/scratch.ts";

setDefaultTimeout(120_000);

const page = documents().find(({ path }) => path === "docs/manifest.md");
if (!page) throw new Error("docs/manifest.md is not there");
const blocks = blocksOf(page);
const blockWith = (language: string, text: string) =>
  blocks.find((block) => block.language === language && block.text.includes(text))?.text ?? "";

const MANIFEST = blockWith("yaml", "# worker/murmur.yaml\n");

function heldOf(manifest: string): Envelope {
  const reading = readManifest(manifest);
  if (!reading.ok) throw new Error(`${reading.fault}:\n${manifest}`);
  return atOnce(lowerManifest(reading.manifest));
}

/** A home with the page's capsule in the folder `worker`. */
function homeWithCapsule() {
  const home = scratchDirectory();
  mkdirSync(join(home.path, "worker"));
  writeFileSync(join(home.path, "worker", "murmur.yaml"), MANIFEST);
  writeFileSync(join(home.path, "worker", ".env"), "SECRET=1\n");
  return home;
}

describe("a capsule is made", () => {
  test("with npm run pack, which prints what the page shows", () => {
    using home = homeWithCapsule();
    const commands = blockWith("sh", "npm run pack").replaceAll(
      "npm run pack --",
      `${process.execPath} ${join(ROOT, "scripts/pack.ts")}`,
    );
    const { stdout, stderr } = Bun.spawnSync(["sh", "-c", commands], {
      cwd: home.path,
      env: { HOME: home.path, PATH: process.env.PATH ?? "" },
    });
    expect(stderr.toString()).toBe("");
    const printed = stdout
      .toString()
      .replaceAll(home.path, "/home/you")
      .replace(/\b[0-9a-f]{64}\b/, "SHA256");
    expect(printed).toBe(blockWith("text", "what the daemon holds of it"));
  });

  test.skipIf(Bun.which("zip") === null || Bun.which("sha256sum") === null)(
    "by hand, and the daemon's registry resolves it",
    async () => {
      using home = homeWithCapsule();
      const { exitCode, stderr } = Bun.spawnSync(["sh", "-e", "-c", blockWith("sh", "sha256sum")], {
        cwd: join(home.path, "worker"),
        env: { HOME: home.path, PATH: process.env.PATH ?? "" },
      });
      expect([exitCode, stderr.toString()]).toEqual([0, ""]);
      const [name, version] = [parseArtifactName("local/worker"), parseArtifactVersion("1.0.0")];
      if (!name || !version) throw new Error("no name or version");
      const registry = new Registry({
        path: join(home.path, ".murmur", "artifacts"),
        readManifest,
        lower: (manifest) => atOnce(lowerManifest(manifest)),
      });
      const resolution = await registry.resolve({ name, version });
      expect(resolution).toMatchObject({ ok: true, artifact: { held: { filesystemScope: "notes" } } });
      const zip = join(home.path, ".murmur/artifacts/local/worker/1.0.0/worker-1.0.0.mur.zip");
      expect(readFileSync(zip).includes(".env")).toBe(false);
    },
  );
});

/** The cells of every row of a table whose first cell is a key. */
const rows = page.text
  .split("\n")
  .filter((line) => line.startsWith("| `capabilities."))
  .map((line) =>
    line
      .split("|")
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
/** The one has a key, its value, what its absence means and its rule; the other a key, a parent, what it covers and what not. */
const PER_AXIS = AXES.length;
const rules = rows.slice(0, PER_AXIS);
const examples = rows.slice(PER_AXIS);

/** What a cell declares: each text in code, and `undefined` for *nothing*. */
function declarationsIn(cell = ""): (string | undefined)[] {
  return [...cell.matchAll(/`([^`]+)`|\*(nothing)\*/g)].map(([, text]) => text);
}

/** A manifest that declares these under the key, and nothing else. */
function manifestOf(key: string, values: readonly (string | undefined)[]): string {
  const head = "name: example\nversion: 1.0.0\n";
  const declared = values.filter((value) => value !== undefined).map((value) => JSON.stringify(value));
  if (declared.length === 0) return head;
  if (key === "capabilities.state.store") {
    return `${head}artifacts: [${declared.map((store) => `{capabilities: {state: {store: ${store}}}}`).join(", ")}]\n`;
  }
  const [, block = "", name] = key.split(".");
  const kind = AXES.find((axis) => axis.key === key)?.kind;
  const value = kind === "list" ? `[${declared.join(", ")}]` : (values[0] ?? "");
  const inner = name === undefined ? `{${block}: ${value}}` : `{${block}: {${name}: ${value}}}`;
  return `${head}capabilities: ${inner}\n`;
}

function exceeded(key: string, parent: readonly (string | undefined)[], child: string | undefined): string[] {
  const found = atOnce(excesses(heldOf(manifestOf(key, parent)), heldOf(manifestOf(key, [child]))));
  return found.map((excess) => excess.key);
}

describe("what the daemon compares", () => {
  test("is every axis, in the order in which they are checked", () => {
    const keys = AXES.map(({ key }) => `\`${key}\``);
    expect(rules.map(([key]) => key)).toEqual(keys);
    expect([...new Set(examples.map(([key]) => key))]).toEqual(keys);
  });

  test.each(examples.map((row) => [`${row[0]}: ${row[1]}`, row] as const))(
    "covers what the page says for %s",
    (_, row) => {
      const [key = "", parent, covered, uncovered] = row;
      const name = key.replaceAll("`", "");
      const held = declarationsIn(parent);
      const told = [
        ...declarationsIn(covered).map((child) => [child, []] as const),
        ...declarationsIn(uncovered).map((child) => [child, [name]] as const),
      ];
      expect(told.length).toBeGreaterThan(0);
      expect(told.map(([child]) => [child, exceeded(name, held, child)])).toEqual(
        told.map(([child, keys]) => [child, [...keys]]),
      );
    },
  );

  test("a store without a name is named after the manifest", () => {
    const [first = ""] = /stores (.+)$/m.exec(blockWith("yaml", "# opens the stores")) ?? [];
    const stores = first.replace("stores ", "").split(" and ").sort();
    expect([...heldOf(blockWith("yaml", "# opens the stores")).stateStores.entries].sort()).toEqual(stores);
  });
});
