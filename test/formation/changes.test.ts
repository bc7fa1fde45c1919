import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { changesOfRefusal } from "../../src/formation/changes.ts";
import { formationText } from "../../src/formation/index.ts";
import { Judge } from "../../src/formation/judge.ts";
import type { Edit } from "../../src/formation/schema.ts";
import { AXES } from "../../src/referee/axes.ts";
import type { Envelope } from "../../src/referee/envelope.ts";
import { CONTAINMENT_CLASSES, type Containment } from "../../src/registry/containment.ts";
import type { Manifest } from "../../src/registry/manifest.ts";
import { held, registryOf, spawns } from "./kit.ts";

const list = (...entries: string[]) => fc.subarray(entries);
const network = list("a.example", "https://b.example", "b.example:443", "*.example", "a.example/path");
const scope = fc.constantFrom(undefined, ".", "notes", "notes/in", "notes/../other", "/etc", "..");

const manifest: fc.Arbitrary<Manifest> = fc.record({
  name: fc.constant("x"),
  version: fc.constant("1.0.0"),
  networkAllow: network,
  unixSockets: fc.boolean(),
  peerFetchAllow: network,
  shellAllow: list("git", "jq"),
  spawnAllow: list("local/a", "b"),
  envAllow: list("HOME"),
  filesystemScope: scope,
  workdirExec: fc.boolean(),
  stateStores: list("cache", "ledger"),
  installSkill: list("*", "s*", "st", "S"),
  installTool: list("t/*", "t/u", ""),
  containment: fc.constantFrom(...CONTAINMENT_CLASSES),
});

/** The position of an edit's key in a parsed manifest. */
const FIELDS: Readonly<Record<string, keyof Manifest>> = {
  "capabilities.network.allow": "networkAllow",
  "capabilities.network.unix_sockets": "unixSockets",
  "capabilities.peer_fetch.allow": "peerFetchAllow",
  "capabilities.shell.allow": "shellAllow",
  "capabilities.spawn.allow": "spawnAllow",
  "capabilities.env.allow": "envAllow",
  "capabilities.filesystem.scope": "filesystemScope",
  "capabilities.filesystem.workdir_exec": "workdirExec",
  "artifacts[].capabilities.state.store": "stateStores",
  "capabilities.install.skill": "installSkill",
  "capabilities.install.tool": "installTool",
  "capabilities.containment": "containment",
};

/** The manifest after the edit. */
function edited(before: Manifest, { key, action, values }: Edit): Manifest {
  const field = FIELDS[key ?? ""];
  if (!field) throw new Error(`no field for ${key}`);
  const was = before[field];
  const [value = ""] = values;
  switch (action) {
    case "drop":
      return { ...before, [field]: (was as string[]).filter((entry) => !values.includes(entry)) };
    case "list":
      return { ...before, [field]: [...(was as string[]), ...values] };
    case "set":
      if (field === "containment") return { ...before, containment: value as Containment };
      return { ...before, [field]: typeof was === "boolean" ? value === "true" : value };
    case "cover":
      return { ...before, [field]: value };
    case "unset":
      return { ...before, [field]: undefined };
    default:
      throw new Error(`not an edit of a manifest: ${action}`);
  }
}

const exceeded = (parent: Envelope, child: Envelope) => new Judge().exceeded(parent, child);

describe("what to change", () => {
  test("lists edits that each fix only their own axis, and first those that narrow", () => {
    let tried = 0;
    fc.assert(
      fc.property(manifest, manifest, (parent, child) => {
        const keys = (one: Manifest, other: Manifest) =>
          exceeded(held(one), held(other)).map(({ axis }) => axis.key);
        const before = keys(parent, child);
        const changes = changesOfRefusal(
          { capsule: "p", held: held(parent) },
          { capsule: "c", held: held(child) },
          exceeded(held(parent), held(child)),
        );
        expect(changes.map(({ key }) => key)).toEqual(before);
        for (const { key, edits } of changes) {
          expect(edits.length).toBeGreaterThan(0);
          expect(edits.map(({ effect }) => effect)).toEqual(
            edits
              .map(({ effect }) => effect)
              .toSorted((one, other) => (one < other ? -1 : Number(one > other))),
          );
          for (const edit of edits) {
            tried++;
            const isChilds = edit.effect === "narrows";
            expect(edit.capsule).toBe(isChilds ? "c" : "p");
            const after = isChilds ? keys(parent, edited(child, edit)) : keys(edited(parent, edit), child);
            expect(after).toEqual(before.filter((other) => other !== key));
          }
        }
      }),
      { numRuns: 1000 },
    );
    expect(tried).toBeGreaterThan(1000);
    expect(AXES.every(({ key }) => key in FIELDS || `artifacts[].${key}` in FIELDS)).toBe(true);
  });

  test("gives both edits with the file and the key, and never advises widening", async () => {
    using registry = await registryOf({
      "local/root@1.0.0": {
        ...spawns("local/a", "local/b", "local/c", "c"),
        filesystem: { scope: "notes" },
        containment: "scoped",
      },
      "local/a@1.0.0": {
        network: { allow: ["*.example"], unix_sockets: true },
        shell: { allow: ["git", "jq"] },
        filesystem: { scope: "other" },
        stores: ["cache"],
      },
    });
    registry.publishBytes("local/b@1.0.0", Buffer.from("no archive"));
    const lines = [...formationText(await registry.inspect("local/root@1.0.0"))];
    const start = lines.findIndex((line) => line.startsWith("What to change"));
    const a = "murmur.yaml of local/a@1.0.0:";
    const root = "murmur.yaml of local/root@1.0.0:";
    expect(lines.slice(start + 1)).toEqual([
      "  local/a@1.0.0, started by local/root@1.0.0",
      "    capabilities.network.allow",
      `      - ${a} capabilities.network.allow: drop *.example`,
      "    capabilities.network.unix_sockets",
      `      - ${a} capabilities.network.unix_sockets: set it to false`,
      `      or ${root} capabilities.network.unix_sockets would have to be true`,
      "    capabilities.shell.allow",
      `      - ${a} capabilities.shell.allow: drop git, jq`,
      `      or ${root} capabilities.shell.allow would have to list git, jq`,
      "    capabilities.filesystem.scope",
      `      - ${a} capabilities.filesystem.scope: set it to notes`,
      `      or ${root} capabilities.filesystem.scope would have to be other or a directory above it`,
      "    capabilities.state.store",
      `      - ${a} take out the state block that opens cache`,
      `      or ${root} artifacts[].capabilities.state.store would have to list cache`,
      "    capabilities.containment",
      `      - ${a} capabilities.containment: set it to scoped`,
      `      or ${root} capabilities.containment would have to be advisory`,
      "  local/b@1.0.0, started by local/root@1.0.0",
      "    capabilities.spawn.allow",
      "      - the registry: take local/b@1.0.0 out",
      "      or the registry: publish a sound local/b@1.0.0",
      "  local/c, started by local/root@1.0.0",
      "    capabilities.spawn.allow",
      `      - ${root} capabilities.spawn.allow: drop local/c`,
      "      or the registry: publish a version of local/c",
      "  c, started by local/root@1.0.0",
      "    capabilities.spawn.allow",
      `      - ${root} capabilities.spawn.allow: drop c`,
    ]);
  });
});
