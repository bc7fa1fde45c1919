/** The arguments of the command. */

import { expect, test } from "bun:test";
import { readFormationFlags } from "../../src/cli/formation/flags.ts";
import { ROOT } from "./command.ts";

test.each([
  [[], "name the capsule to start at, SCOPE/NAME@VERSION"],
  [["--max-dep", "3", ROOT], "unknown argument: --max-dep"],
  [["-h"], "unknown argument: -h"],
  [[ROOT, "more"], "unknown argument: more"],
  [[ROOT, "--port", "1"], "unknown argument: --port"],
  [
    [ROOT, "--max-depth", "-1"],
    "invalid --max-depth: it takes a whole number from 0 to 4294967295, not '-1'",
  ],
  [[ROOT, "--max-depth"], "--max-depth needs a value"],
  [[ROOT, "--format", "xml"], "invalid --format: it takes one of text, json, mermaid, dot"],
  [
    [ROOT, "--platform", "plan9"],
    "invalid --platform: it takes one of linux-x86_64, linux-aarch64, darwin-x86_64, darwin-aarch64",
  ],
  [[ROOT, "--registry-path="], "invalid --registry-path: it must not be empty"],
  [["--why", ROOT], "--why needs two capsules, PARENT CHILD"],
  [["--why", ROOT, "--registry-path", "/r"], "--why needs two capsules, PARENT CHILD"],
  [
    ["--why", ROOT, ROOT, "--max-depth", "0"],
    "--why compares two manifests, whatever the bounds; leave the bounds out",
  ],
  [[ROOT, "--why", ROOT, ROOT], "--why takes two capsules and cannot be combined with a root or --expect"],
  [["--why", ROOT, ROOT, "--format", "json"], "--why prints text; leave --format out"],
  [[ROOT, "--expect", "x", "--format", "dot"], "--expect prints text; leave --format out"],
])("%j is refused", (args, fault) => {
  expect(readFormationFlags(args)).toEqual({ kind: "fault", fault });
});

test("arguments take their value from the next one or after an equals sign; the last one counts", () => {
  const args = [
    "--max-depth=1",
    "--max-depth",
    "2",
    ROOT,
    "--max-live-capsules=9",
    "--platform=darwin-x86_64",
  ];
  expect(readFormationFlags([...args, "--format", "dot", "--registry-path", "a=b"])).toEqual({
    kind: "run",
    flags: {
      task: { kind: "show", root: ROOT, format: "dot" },
      registryPath: "a=b",
      platform: "darwin-x86_64",
      limits: { maxDepth: 2, maxLiveCapsules: 9 },
    },
  });
});
