import { expect, test } from "bun:test";
import type { TSchema } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import * as schemas from "../../src/api/schemas.ts";

const { DeregisterAnswer, HealthAnswer, Refused, RegisterAnswer, SpawnAnswer, StatusAnswer } = schemas;
const ANSWERS: readonly (readonly [TSchema, object])[] = [
  [HealthAnswer, {}],
  [DeregisterAnswer, {}],
  [RegisterAnswer, { credential: "x" }],
  [Refused, { error: "x" }],
  [SpawnAnswer, { approval: "x", name: "x", version: "x", sha256: "x", expires_at_ms: 1 }],
  [StatusAnswer, { status: "failed", depth_remaining: 1, live_children: 1, live_capsules: 1 }],
];

test.each(ANSWERS)("an answer has its fields and no others", (schema, answer) => {
  expect(Value.Check(schema, answer)).toBe(true);
  expect(Value.Check(schema, { ...answer, more: 1 })).toBe(false);
  for (const key of Object.keys(answer)) {
    expect(Value.Check(schema, { ...answer, [key]: undefined })).toBe(false);
  }
});

test("every field of a request or an answer is described, except the two with fixed values", () => {
  const plain: string[] = [];
  for (const schema of Object.values(schemas)) {
    if (typeof schema !== "object" || !("properties" in schema)) continue;
    for (const [name, field] of Object.entries(schema.properties as Record<string, TSchema>)) {
      if (!field.description) plain.push(name);
    }
  }
  // An id in a path is described where the path is.
  expect(plain.sort()).toEqual(["outcome", "session_id", "status"]);
});
