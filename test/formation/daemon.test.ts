import { describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { type Edge, inspectFormation } from "../../src/formation/index.ts";
import { createHost } from "../kit/host.ts";
import { shared } from "../kit/shared.ts";
import { type Declared, parts, type TestRegistry, testRegistry } from "./kit.ts";

const NAMES = ["local/a", "local/b", "local/c", "local/d", "local/e"] as const;
const VERSIONS = ["1.0.0", "1.10.0"] as const;

const registry = shared((undo) => undo.use(testRegistry()));
const host = shared((undo) => undo.use(createHost(NAMES.flatMap((name) => ["--spawn-allow", name]))));
const daemon = shared(() =>
  host().start([
    "--registry-path",
    registry().path,
    "--max-concurrent",
    "1000000",
    "--max-live-capsules",
    "1000000",
  ]),
);

// Few values, so that two capsules often meet on one, and often do not.
const list = (...entries: string[]) => fc.subarray(entries);
const network = list(
  "a.example",
  "https://b.example",
  "b.example:443",
  "*.example",
  'quo\'te, "and" ünicode.example',
);
const declared: fc.Arbitrary<Declared> = fc.record(
  {
    network: fc.record({ allow: network, unix_sockets: fc.boolean() }, { requiredKeys: [] }),
    peer_fetch: fc.record({ allow: network }),
    shell: fc.record({ allow: list("git", "jq", "two words") }),
    spawn: fc.record({ allow: list(...NAMES, "local/absent", "no-full-name") }),
    env: fc.record({ allow: list("HOME", "$TOKEN") }),
    filesystem: fc.record(
      {
        scope: fc.constantFrom("notes", "notes/in", "other/../notes", "/etc", ".."),
        workdir_exec: fc.boolean(),
      },
      { requiredKeys: [] },
    ),
    install: fc.record({ skill: list("*", "s*", "st", "S"), tool: list("t/*", "t/u") }, { requiredKeys: [] }),
    containment: fc.constantFrom("advisory", "scoped", "sealed"),
    stores: list("cache", "ledger"),
  },
  { requiredKeys: ["spawn"] },
);

/** A capsule that asks for less is granted more often than chance would have it. */
const modest: fc.Arbitrary<Declared> = fc.record({
  spawn: fc.record({ allow: list(...NAMES) }),
  containment: fc.constant("sealed"),
});

type Broken = "garbage" | "other-hash" | "no-sidecar" | "bad-manifest";
interface Published {
  readonly capsule: string;
  readonly content: Declared | Broken;
}

const published: fc.Arbitrary<Published[]> = fc.uniqueArray(
  fc.record({
    capsule: fc
      .tuple(fc.constantFrom(...NAMES), fc.constantFrom(...VERSIONS))
      .map(([name, version]) => `${name}@${version}`),
    content: fc.oneof(
      { weight: 5, arbitrary: declared },
      { weight: 4, arbitrary: modest },
      {
        weight: 1,
        arbitrary: fc.constantFrom<Broken[]>("garbage", "other-hash", "no-sidecar", "bad-manifest"),
      },
    ),
  }),
  { selector: ({ capsule }) => capsule, minLength: 3, maxLength: 8 },
);

async function publish(registry: TestRegistry, { capsule, content }: Published): Promise<void> {
  if (typeof content !== "string") {
    await registry.publish(capsule, content);
    return;
  }
  const [name, version] = parts(capsule);
  const sidecar = join(registry.path, name, version, `${name.slice("local/".length)}-${version}.sha256`);
  switch (content) {
    case "garbage":
      registry.publishBytes(capsule, Buffer.from("no archive"));
      break;
    case "bad-manifest":
      await registry.publish(capsule, { containment: "airtight" });
      break;
    case "other-hash":
    case "no-sidecar":
      await registry.publish(capsule);
      writeFileSync(sidecar, content === "other-hash" ? "0".repeat(64) : "");
      break;
    default:
      content satisfies never;
  }
}

/** What the daemon would answer to this edge's `POST /spawn`; a name without versions is asked for in some version. */
function expected(edge: Edge): { status: number; error?: string; sha256?: string } {
  switch (edge.verdict) {
    case "granted":
      return { status: 200, sha256: edge.sha256 };
    case "refused":
      return { status: 403, error: edge.error };
    case "unresolved":
      return { status: 500, error: edge.error };
    case "not-in-registry":
      return { status: 500 };
    case "not-a-full-name":
      return { status: 400 };
    default:
      return edge satisfies never;
  }
}

describe("what a formation says of a pair", () => {
  test("is exactly what the daemon answers to that spawn", async () => {
    const { caller } = daemon();
    const seen = new Map<string, number>();
    let session = 0;
    const run = async (capsules: Published[]) => {
      registry().remove("local");
      for (const capsule of capsules) await publish(registry(), capsule);
      const credentials = new Map<string, string>();
      const credentialOf = async (capsule: string) => {
        const [name, version] = parts(capsule);
        const answer = await caller.register(`ses_${session++}`, name, undefined, version);
        expect(answer.status).toBe(200);
        return String(answer.json.credential);
      };
      for (const root of new Set(capsules.map(({ capsule }) => capsule))) {
        const reading = await inspectFormation({ root, registryPath: registry().path });
        const [name, version] = parts(root);
        if (!reading.ok) {
          const answer = await caller.register(`ses_${session++}`, name, undefined, version);
          expect([answer.status, answer.json.error]).toEqual([500, reading.fault]);
          continue;
        }
        for (const edge of reading.formation.edges) {
          const credential = credentials.get(edge.parent) ?? (await credentialOf(edge.parent));
          credentials.set(edge.parent, credential);
          const answer = await caller.spawn(credential, edge.name, edge.version ?? "1.0.0");
          seen.set(edge.verdict, (seen.get(edge.verdict) ?? 0) + 1);
          expect({ status: answer.status, ...answer.json }).toMatchObject(expected(edge));
        }
      }
    };
    await fc.assert(fc.asyncProperty(published, run), { numRuns: 60 });
    for (const verdict of ["granted", "refused", "unresolved", "not-in-registry", "not-a-full-name"]) {
      expect(seen.get(verdict) ?? 0).toBeGreaterThan(10);
    }
  });
});
