/** Manifests in the shapes that people publish: each is read, with the capabilities that it declares. */

import { describe, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { libraryAnswer, ourAnswer } from "../../scripts/yaml-fuzz/readers.ts";
import { readManifest } from "../../src/registry/manifest.ts";
import { readYamlTree } from "../../src/registry/yaml/read-tree.ts";

const FOLDER = join(import.meta.dir, "manifests");
const sourceOf = (name: string) => readFileSync(join(FOLDER, `${name}.yaml`), "utf8");
const manifestOf = (name: string) => {
  const reading = readManifest(sourceOf(name));
  if (!reading.ok) throw new Error(`${name}: ${reading.fault}`);
  return reading.manifest;
};

describe("a published manifest", () => {
  test("of a tool is read, with JSON schemas in braces over several lines", () => {
    expect(manifestOf("tool")).toEqual({
      name: "web-search",
      version: "0.10",
      networkAllow: ["https://api.example.com", "https://search.example.org:8443", "cdn.example.net"],
      unixSockets: false,
      peerFetchAllow: [],
      shellAllow: ["jq", "curl"],
      spawnAllow: [],
      envAllow: ["SEARCH_KEY", "HOME"],
      filesystemScope: "./cache",
      workdirExec: false,
      stateStores: ["web-search"],
      installSkill: [],
      installTool: [],
      containment: "advisory",
    });
  });

  test("of a hook is read, with long blocks of text that look like YAML, JSON and comments", () => {
    expect(manifestOf("hook")).toMatchObject({
      name: "changelog-hook",
      shellAllow: ["git", "sed", "date", "bash"],
      filesystemScope: ".",
      workdirExec: true,
      containment: "scoped",
    });
  });

  test("of a capsule is read, with comments, variables and lists indented or not", () => {
    expect(manifestOf("capsule")).toMatchObject({
      name: "lead-researcher",
      version: "2.0.0-rc.1",
      networkAllow: ["https://api.openai.com", "$" + "{HOST}"],
      spawnAllow: ["local/researcher", "local/fact-checker"],
      envAllow: [],
      stateStores: ["shared memory", "inbox", "lead-researcher"],
      installSkill: ["*"],
      installTool: ["web-*", "search"],
      filesystemScope: "notes/research and more",
    });
  });

  test.each(readdirSync(FOLDER))("%s reads the same with a YAML 1.2 reader, and with CRLF", (file) => {
    const source = readFileSync(join(FOLDER, file), "utf8");
    expect(ourAnswer(source)).toEqual(libraryAnswer(source));
    expect(readYamlTree(source.replaceAll("\n", "\r\n"))).toEqual(readYamlTree(source));
  });
});
