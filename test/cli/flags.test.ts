import { describe, expect, test } from "bun:test";
import { readFlags, usage } from "../../src/cli/flags.ts";

const flagsOf = (...argv: string[]) => {
  const reading = readFlags(argv);
  if (reading.kind !== "run") throw new Error(JSON.stringify(reading));
  return reading.flags;
};

describe("flags", () => {
  test("have the defaults given in the documentation", () => {
    expect(flagsOf()).toEqual({
      port: 7700,
      registryPath: undefined,
      spawnAllow: new Set(),
      maxDepth: 3,
      maxConcurrent: 4,
      maxLiveCapsules: undefined,
    });
  });

  test("take their value from the next argument or after an equals sign; the last one counts", () => {
    const flags = flagsOf(
      "--port",
      "1",
      "--port=2",
      "--registry-path=a=b",
      "--max-depth=0",
      "--max-live-capsules",
      "4294967295",
    );
    expect(flags).toMatchObject({
      port: 2,
      registryPath: "a=b",
      maxDepth: 0,
      maxLiveCapsules: 4_294_967_295,
    });
  });

  test.each(["port", "max-depth", "max-concurrent", "max-live-capsules"])(
    "--%s takes a number with any leading zeros, and none that is too large",
    (name) => {
      for (const zeros of [0, 1, 18, 20, 400]) {
        const flags = Object.values(flagsOf(`--${name}=${"0".repeat(zeros)}43`));
        expect(flags).toContain(43);
      }
      for (const value of ["9".repeat(21), "1".padEnd(400, "0"), `${"0".repeat(30)}4294967296`]) {
        expect(readFlags([`--${name}`, value])).toMatchObject({ kind: "fault" });
      }
    },
  );

  test("--spawn-allow adds one name for each occurrence", () => {
    const { spawnAllow } = flagsOf(
      "--spawn-allow",
      "local/a",
      "--spawn-allow=murmur/b",
      "--spawn-allow",
      "local/a",
    );
    expect([...spawnAllow] as string[]).toEqual(["local/a", "murmur/b"]);
  });

  test.each([
    [["--max-total", "3"], "unknown argument: --max-total"],
    [["--maxDepth", "3"], "unknown argument: --maxDepth"],
    [["--max-dep", "3"], "unknown argument: --max-dep"],
    [["--no-version"], "unknown argument: --no-version"],
    [["-h"], "unknown argument: -h"],
    [["--help"], "unknown argument: --help"],
    [["-p", "1"], "unknown argument: -p"],
    [["serve"], "unknown argument: serve"],
    [["--"], "unknown argument: --"],
    [[""], "unknown argument: "],
    [["--version=1"], "unknown argument: --version=1"],
    [["--PORT", "1"], "unknown argument: --PORT"],
    [["--\u001b[31m"], "unknown argument: --\\u001b[31m"],
    [["--port"], "--port needs a value"],
    [["--port", "x"], "invalid --port: it takes a whole number from 0 to 65535, not 'x'"],
    [["--port", "65536"], "invalid --port: it takes a whole number from 0 to 65535, not '65536'"],
    [["--port="], "invalid --port: it takes a whole number from 0 to 65535, not ''"],
    [["--max-depth", "-1"], "invalid --max-depth: it takes a whole number from 0 to 4294967295, not '-1'"],
    [["--max-depth", "1.5"], "invalid --max-depth: it takes a whole number from 0 to 4294967295, not '1.5'"],
    [["--max-depth", "0x1"], "invalid --max-depth: it takes a whole number from 0 to 4294967295, not '0x1'"],
    [["--max-depth", " 1"], "invalid --max-depth: it takes a whole number from 0 to 4294967295, not ' 1'"],
    [
      ["--max-concurrent", "4294967296"],
      "invalid --max-concurrent: it takes a whole number from 0 to 4294967295, not '4294967296'",
    ],
    [
      ["--max-live-capsules", "1e3"],
      "invalid --max-live-capsules: it takes a whole number from 0 to 4294967295, not '1e3'",
    ],
    [["--registry-path", ""], "invalid --registry-path: it must not be empty"],
  ])("%j is refused", (argv, fault) => {
    expect(readFlags(argv)).toEqual({ kind: "fault", fault });
  });

  test.each([
    "local/a,local/b",
    "a",
    "local/",
    "/a",
    "Local/a",
    "local/-a",
    "local/a-",
    "local/a/b",
    "local/a b",
    "",
  ])("--spawn-allow %p names the flag it stops at", (name) => {
    const reading = readFlags(["--spawn-allow", name]);
    expect(reading).toMatchObject({ kind: "fault" });
    expect(reading).toHaveProperty("fault", expect.stringContaining("--spawn-allow"));
  });

  test("are read from left to right, and the first one that matters decides", () => {
    expect(readFlags(["--version", "--nope"])).toEqual({ kind: "version" });
    expect(readFlags(["--nope", "--version"])).toMatchObject({ kind: "fault" });
    expect(readFlags(["--port", "--version"])).toMatchObject({ kind: "fault" });
    expect(readFlags(["--port", "x", "--nope"])).toHaveProperty("fault", expect.stringContaining("--port"));
  });

  test("are all shown in the line of usage", () => {
    expect(usage()).not.toContain("\n");
    for (const flag of [
      "--port",
      "--registry-path",
      "--spawn-allow",
      "--max-depth",
      "--max-concurrent",
      "--max-live-capsules",
      "--version",
    ])
      expect(usage()).toContain(flag);
  });
});
