import { describe, expect, test } from "bun:test";
import { childCommand } from "../../../src/runtime/contract/arguments.ts";
import { parseRunArguments } from "../../../src/runtime/index.ts";
import { coordinates } from "../parent.ts";

test("a child's executable is the file that the kernel finds, from the parent's folder", () => {
  const child = coordinates("local/a", "1");
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

  const valued = ["--capsule", "--capsule-version", "--workdir", "--parent-workdir-snapshot"];
  test.each([...valued, "--spawn-grant-stdin", "--readiness-tokens"])(
    "are read if the version is spelled %s",
    (version) => {
      const read = parseRunArguments([...given.with(4, version), "--json"]);
      const off = { grantOnStdin: false, readinessTokens: false, parentWorkdir: undefined };
      expect(read).toEqual({
        ok: true,
        value: { ...coordinates("local/a", version), workdir: "/w", ...off },
      });
    },
  );

  test("are what the parent wrote, however the version is spelled", () => {
    for (const version of [...valued, "--json", "--spawn-grant-stdin", "run"]) {
      const child = coordinates("local/a", version);
      const [, ...argv] = childCommand({}, child, "/w", { files: 1 });
      const read = parseRunArguments(argv);
      const flags = { grantOnStdin: true, readinessTokens: true };
      expect(read).toEqual({
        ok: true,
        value: { ...child, workdir: "/w", ...flags, parentWorkdir: { files: 1 } },
      });
    }
  });

  test("count where they are given first", () => {
    const again = ["--capsule", "local/b", "--capsule-version", "2", "--workdir", "/v"];
    expect(parseRunArguments([...given, ...again])).toEqual(parseRunArguments(given));
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
