import { describe, expect, test } from "bun:test";
import type { ArtifactVersion } from "../../../src/registry/artifact-name.ts";
import { childCommand } from "../../../src/runtime/contract/arguments.ts";
import { parseRunArguments } from "../../../src/runtime/index.ts";
import { nameOf } from "../../kit/in-process.ts";

test("a child's executable is the file that the kernel finds, from the parent's folder", () => {
  const child = { name: nameOf("local/a"), version: "1" as ArtifactVersion };
  const [absolute, relative] = ["/link/../bin/mur", "./link/../mur"].map(
    (binary) => childCommand({ MURMUR_MUR_BINARY: binary }, child, "/w", undefined)[0],
  );
  expect([absolute, relative]).toEqual(["/link/../bin/mur", `${process.cwd()}/link/../mur`]);
});

describe("the arguments of a run", () => {
  const given = ["run", "--capsule", "local/a", "--capsule-version", "1", "--workdir", "/w"];

  test("are read by name", () => {
    const flags = ["--json", "--later", "--spawn-grant-stdin", "--readiness-tokens"];
    const read = parseRunArguments([...given, ...flags, "--parent-workdir-snapshot", '{"files":1}']);
    expect(read).toMatchObject({
      ok: true,
      value: {
        name: "local/a",
        version: "1",
        workdir: "/w",
        grantOnStdin: true,
        readinessTokens: true,
        parentWorkdir: { files: 1 },
      },
    });
  });

  test.each([
    ["run", given.slice(1)],
    ["--capsule", given.with(2, "A")],
    ["--capsule-version", given.with(4, "..")],
    ["--workdir", given.slice(0, 5)],
    ["--parent-workdir-snapshot", [...given, "--parent-workdir-snapshot", "[]"]],
  ])("with a wrong %s are refused, and the fault names it", (name, argv) => {
    const read = parseRunArguments(argv);
    expect(read.ok ? "" : read.fault).toContain(name);
  });
});
