import { describe, expect, test } from "bun:test";
import { FORMATION_SCHEMA_PATH, formationSchemaText } from "../../scripts/formation-schema.ts";
import { schemaFaults } from "../kit/json-schema.ts";
import { spawns, testRegistry } from "./kit.ts";

const published = await Bun.file(FORMATION_SCHEMA_PATH).text();

describe("docs/formation.schema.json", () => {
  test("matches the code", () => {
    expect(published).toBe(formationSchemaText());
  });

  test("accepts a formation with every kind of edge and edit, and nothing else", async () => {
    using registry = testRegistry();
    await registry.publish("local/root@1.0.0", {
      ...spawns("local/root", "local/a", "local/b", "local/c", "c"),
      filesystem: { scope: "notes" },
      containment: "scoped",
    });
    await registry.publish("local/a@1.0.0", {
      network: { allow: ["a.example"], unix_sockets: true },
      filesystem: { scope: "other" },
    });
    registry.publishBytes("local/b@1.0.0", Buffer.from("no archive"));
    const formation = JSON.parse(JSON.stringify(await registry.inspect("local/root@1.0.0")));
    const verdicts = formation.edges.map(({ verdict }: { verdict: string }) => verdict);
    expect(verdicts).toEqual(["granted", "refused", "unresolved", "not-in-registry", "not-a-full-name"]);
    const schema = JSON.parse(published);
    expect(schemaFaults(schema, formation)).toEqual([]);
    expect(schemaFaults(schema, { ...formation, format: "other" })).not.toEqual([]);
    expect(schemaFaults(schema, { ...formation, more: 1 })).not.toEqual([]);
    expect(schemaFaults(schema, { ...formation, edges: [{ ...formation.edges[1], axes: [] }] })).not.toEqual(
      [],
    );
    expect(schemaFaults(schema, { ...formation, capsules: [] })).not.toEqual([]);
  });
});
