import { describe, expect, test } from "bun:test";
import { mkdirSync, renameSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { formationText } from "../../src/formation/index.ts";
import { parts, registryOf, spawns, testRegistry, treeText } from "./kit.ts";

describe("the tree", () => {
  test("names every axis and every entry of a refusal, and every missing artifact", async () => {
    using registry = testRegistry();
    const root = await registry.publish("local/orchestrator@1.0.0", {
      network: { allow: ["api.example.com"] },
      ...spawns("local/researcher", "local/scraper", "local/archivist", "researcher", "local/fact-checker"),
      filesystem: { scope: "notes" },
      containment: "scoped",
    });
    await registry.publish("local/researcher@1.0.0", {
      ...spawns("local/fact-checker"),
      filesystem: { scope: "notes" },
      containment: "scoped",
    });
    await registry.publish("local/fact-checker@1.0.0", {
      filesystem: { scope: "notes/in" },
      containment: "sealed",
    });
    await registry.publish("local/scraper@1.0.0", {
      network: { allow: ["tracker.example.net", "api.example.com", "cdn.example.net"], unix_sockets: true },
      shell: { allow: ["curl", "two words", ""] },
      stores: ["ledger", "cache"],
    });
    expect(treeText(await registry.inspect("local/orchestrator@1.0.0"))).toEqual([
      `local/orchestrator@1.0.0            ${root.slice(0, 16)}`,
      "├── local/researcher@1.0.0          granted",
      "│   └── local/fact-checker@1.0.0    granted",
      "├── local/scraper@1.0.0             refused",
      "│     capabilities.network.allow           tracker.example.net, cdn.example.net",
      "│     capabilities.network.unix_sockets    true",
      '│     capabilities.shell.allow             curl, "two words", ""',
      "│     capabilities.filesystem.scope        no scope: the whole workdir",
      "│     capabilities.state.store             cache, ledger",
      "│     capabilities.containment             advisory",
      "├── local/archivist                 not in the registry",
      "├── researcher                      not a full name, so no request can name it",
      "└── local/fact-checker@1.0.0        granted",
    ]);
  });

  test("shows every existing version, in numeric order", async () => {
    using registry = testRegistry();
    await registry.publish("local/root@1.0.0", spawns("local/a", "local/a"));
    for (const version of ["1.10.0", "1.9.0", "2.0.0-beta"]) await registry.publish(`local/a@${version}`);
    await registry.publish("local/a@1.9.1", { shell: { allow: ["git"] } });
    mkdirSync(join(registry.path, "local/a/.unfinished"));
    expect(treeText(await registry.inspect("local/root@1.0.0")).slice(1)).toEqual([
      "├── local/a@1.9.0         granted",
      "├── local/a@1.9.1         refused",
      "│     capabilities.shell.allow    git",
      "├── local/a@1.10.0        granted",
      "└── local/a@2.0.0-beta    granted",
    ]);
  });

  test("prints a subtree once, on the shortest way to it, and marks where a cycle closes", async () => {
    const all = ["local/root", "local/a", "local/b", "local/c"];
    using registry = await registryOf({
      "local/root@1.0.0": spawns(...all.slice(1, 3), ...all),
      "local/a@1.0.0": spawns("local/b", "local/c"),
      "local/b@1.0.0": spawns("local/root", "local/c", "local/b"),
      "local/c@1.0.0": spawns("local/a"),
    });
    const lines = treeText(await registry.inspect("local/root@1.0.0"));
    expect(lines.slice(1)).toEqual([
      "├── local/a@1.0.0           granted",
      "│   ├── local/b@1.0.0       refused",
      "│   │     capabilities.spawn.allow    local/root",
      "│   └── local/c@1.0.0       refused",
      "│         capabilities.spawn.allow    local/a",
      "├── local/b@1.0.0           granted",
      "│   ├── local/root@1.0.0    refused",
      "│   │     capabilities.spawn.allow    local/a",
      "│   ├── local/c@1.0.0       refused",
      "│   │     capabilities.spawn.allow    local/a",
      "│   └── local/b@1.0.0       granted, a cycle closes here: see above",
      "├── local/root@1.0.0        granted, a cycle closes here: see above",
      "└── local/c@1.0.0           granted",
      "    └── local/a@1.0.0       refused",
      "          capabilities.spawn.allow    local/b, local/c",
    ]);
  });

  test("marks a cycle that closes through another branch", async () => {
    const pair = spawns("local/a", "local/b");
    using registry = await registryOf({
      "local/root@1.0.0": pair,
      "local/a@1.0.0": pair,
      "local/b@1.0.0": pair,
    });
    expect(treeText(await registry.inspect("local/root@1.0.0")).slice(1)).toEqual([
      "├── local/a@1.0.0        granted",
      "│   ├── local/a@1.0.0    granted, a cycle closes here: see above",
      "│   └── local/b@1.0.0    granted, see below",
      "└── local/b@1.0.0        granted",
      "    ├── local/a@1.0.0    granted, a cycle closes here: see above",
      "    └── local/b@1.0.0    granted, a cycle closes here: see above",
    ]);
  });

  test("says where the depth bound ends a branch, counted on the shortest way", async () => {
    using registry = await registryOf({
      "local/root@1.0.0": spawns("local/a", "local/c", "local/b"),
      "local/a@1.0.0": spawns("local/b", "local/c"),
      "local/b@1.0.0": spawns("local/c"),
      "local/c@1.0.0": {},
    });
    const shown = async (maxDepth: number) =>
      treeText(await registry.inspect("local/root@1.0.0", { limits: { maxDepth } }));
    expect((await shown(2)).slice(1)).toEqual([
      "├── local/a@1.0.0        granted",
      "│   ├── local/b@1.0.0    granted, see below",
      "│   └── local/c@1.0.0    granted",
      "├── local/c@1.0.0        granted",
      "└── local/b@1.0.0        granted",
      "    └── local/c@1.0.0    granted",
    ]);
    expect((await shown(1)).slice(1)).toEqual([
      "├── local/a@1.0.0    granted, the branch ends at --max-depth 1",
      "├── local/c@1.0.0    granted",
      "└── local/b@1.0.0    granted, the branch ends at --max-depth 1",
    ]);
    expect((await shown(0)).join()).toMatch(
      /^local\/root@1\.0\.0 {4}[0-9a-f]{16}, the branch ends at --max-depth 0$/,
    );
  });

  test("shows the daemon's sentence for an artifact that it would refuse to read, and continues", async () => {
    using registry = testRegistry();
    await registry.publish("local/root@1.0.0", spawns("local/a", "local/b", "local/c"));
    registry.publishBytes("local/a@1.0.0", Buffer.from("no archive"));
    await registry.publish("local/b@1.0.0");
    writeFileSync(join(registry.path, "local/b/1.0.0/b-1.0.0.sha256"), "0".repeat(64));
    await registry.publish("local/c@1.0.0");
    const zip = join(registry.path, "local/b/1.0.0/b-1.0.0");
    const [, , detail = "", , other = "", last] = treeText(await registry.inspect("local/root@1.0.0"));
    expect(detail).toStartWith("│     manifest extraction failed: 'local/a/1.0.0': ");
    expect(other).toStartWith(
      `│     registry error for 'local/b/1.0.0': ${zip}.sha256 names another hash than`,
    );
    expect(last).toBe("└── local/c@1.0.0    granted");
  });

  test("judges the artifact that the platform would get", async () => {
    using registry = testRegistry();
    await registry.publish("local/root@1.0.0", spawns("local/a", "local/b"));
    const onlyFor = async (capsule: string, platform: string) => {
      const [name, version] = parts(capsule);
      await registry.publish(capsule, { shell: { allow: ["git"] } });
      const base = join(registry.path, name, version, `${name.slice("local/".length)}-${version}`);
      renameSync(`${base}.mur.zip`, `${base}-${platform}.mur.zip`);
      renameSync(`${base}.sha256`, `${base}-${platform}.sha256`);
    };
    await onlyFor("local/a@1.0.0", "darwin-aarch64");
    await onlyFor("local/b@1.0.0", "darwin-aarch64");
    await registry.publish("local/a@1.0.0");
    const verdicts = async (platform: string) => {
      const formation = await registry.inspect("local/root@1.0.0", { platform });
      expect(formation.platform).toBe(platform);
      return formation.edges.map(({ verdict }) => verdict);
    };
    expect(await verdicts("darwin-aarch64")).toEqual(["refused", "refused"]);
    expect(await verdicts("linux-x86_64")).toEqual(["granted", "unresolved"]);
  });

  test("names a directory that cannot be listed", async () => {
    using registry = testRegistry();
    await registry.publish("local/root@1.0.0", spawns("local/a"));
    const circle = join(registry.path, "local/a");
    symlinkSync(circle, circle);
    const formation = await registry.inspect("local/root@1.0.0");
    expect(formation.changes.map(({ edits }) => edits[0])).toMatchObject([
      { action: "drop", values: ["local/a"] },
    ]);
    expect(treeText(formation).slice(1)).toEqual([
      "└── local/a         cannot be resolved",
      `      registry error for 'local/a': ${circle}: Too many levels of symbolic links (os error 40)`,
    ]);
  });

  test("escapes text of a manifest that moves the cursor or ends a line, with and without colour", async () => {
    using registry = testRegistry();
    const evil = "\u001b[31mx\u0007\n\u202e";
    await registry.publish("local/root@1.0.0", spawns(evil, "local/a"));
    await registry.publish("local/a@1.0.0", { shell: { allow: [evil, "b\u009bc"] } });
    const formation = await registry.inspect("local/root@1.0.0");
    for (const colour of [false, true]) {
      const text = [...formationText(formation, { colour })].join("\n");
      const bare = ["31", "32", "33", "1", "2", "0"].reduce(
        (left, code) => left.replaceAll(`\u001b[${code}m`, ""),
        text,
      );
      expect(bare !== text).toBe(colour);
      expect(bare).not.toMatch(/[^\P{C}\n]/u);
      expect(bare).toContain("\\u001b[31mx\\u0007\\n\\u202e");
    }
  });
});
