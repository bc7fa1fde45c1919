import { expect, test } from "bun:test";
import { delegateTaskOf } from "../../../src/runtime/delegation/delegate-task.ts";
import { coordinates } from "../parent.ts";

const spawnAllow = ["local/writer", "local/reader"].map((name) => coordinates(name).name);

test("the tool description says what a call returns and waits for, and that an answer may be missing", () => {
  const { definition } = delegateTaskOf({ spawnAllow, workdirSnapshot: [] } as never) ?? {};
  for (const word of [
    "does not wait",
    "delegation_id",
    "child_workdir",
    "every sub-capsule",
    "`result: none`",
  ]) {
    expect(definition?.description).toContain(word);
  }
  expect(definition?.description).not.toContain("copy");
  expect(definition?.input_schema).toMatchObject({
    type: "object",
    required: ["capsule", "version", "task"],
    properties: {
      capsule: { type: "string", enum: ["writer", "reader"] },
      version: { type: "string" },
      task: { type: "string" },
    },
  });
});

test("the tool description says which capsules start with a copy, in the manifest's words", () => {
  const [, reader] = spawnAllow;
  const { definition } = delegateTaskOf({ spawnAllow, workdirSnapshot: [reader] } as never) ?? {};
  expect(definition?.description).toContain(
    "reader starts with a copy of this capsule's work folder as it is when the call is made, and nothing it changes reaches this capsule's work folder.",
  );
  expect(definition?.description).not.toContain("writer starts");
});
