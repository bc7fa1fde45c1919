/** The values of a manifest's keys: which texts are none, which are true or false, and how long they may be. */

import { expect, test } from "bun:test";
import { readManifest } from "../../src/registry/manifest.ts";

const HEAD = "name: a\nversion: 0.1.0\n";
const read = (source: string) => {
  const reading = readManifest(source);
  return reading.ok ? reading.manifest : reading.fault;
};

test.each(["", "~", "null", "Null", "NULL"])("a plain %j is no value where one may be left out", (word) => {
  const artifacts = `artifacts: [{capabilities: {state: ${word}}}, {capabilities: ${word}}]\n`;
  const none = { stateStores: [], filesystemScope: undefined, shellAllow: [], containment: "advisory" };
  expect(read(`${HEAD}capabilities: ${word}\n${artifacts}`)).toMatchObject(none);
  const inner = `{filesystem: {scope: ${word}}, shell: ${word}, containment: ${word}}`;
  expect(read(`${HEAD}capabilities: ${inner}\n`)).toMatchObject(none);
});

test.each([`"null"`, `""`, "nULL", "none"])("%s is a text", (word) => {
  expect(read(`${HEAD}capabilities: ${word}\n`)).toBe("capabilities: must be a mapping");
  const scope = word.replaceAll('"', "") || undefined;
  expect(read(`${HEAD}capabilities: {filesystem: {scope: ${word}}}\n`)).toMatchObject({
    filesystemScope: scope,
  });
  expect(read(`${HEAD}artifacts: [{capabilities: {state: ${word}}}]\n`)).toBe(
    "artifacts[0].capabilities.state: must be a mapping",
  );
});

test.each([
  ["true", true],
  ["True", true],
  ["TRUE", true],
  ["false", false],
  ["False", false],
  ["FALSE", false],
])("a plain %s is %p", (word, workdirExec) => {
  expect(read(`${HEAD}capabilities: {filesystem: {workdir_exec: ${word}}}`)).toMatchObject({ workdirExec });
});

test.each([`"true"`, "'false'", "tRUE", "yes", "1", "null", "[]"])("%s is neither true nor false", (word) => {
  expect(read(`${HEAD}capabilities: {filesystem: {workdir_exec: ${word}}}`)).toBe(
    "capabilities.filesystem.workdir_exec: must be true or false",
  );
});

test.each([
  "network: {allow: [ENTRY]}",
  "peer_fetch: {allow: [ENTRY]}",
  "shell: {allow: [ENTRY]}",
  "spawn: {allow: [ENTRY]}",
  "env: {allow: [ENTRY]}",
  "install: {skill: [ENTRY]}",
  "install: {tool: [ENTRY]}",
])("a list may have entries of 4 KiB, and none longer: %s", (capability) => {
  const withEntry = (entry: string) => read(`${HEAD}capabilities: {${capability.replace("ENTRY", entry)}}`);
  expect(withEntry("é".repeat(2048))).toMatchObject({ name: "a" });
  expect(withEntry(`${"é".repeat(2048)}x`)).toMatch(/^capabilities\.[a-z_.]+: no entry may be longer/);
});

test("a key that is left out is false, and a list with nothing behind its key is empty", () => {
  const none = { workdirExec: false, unixSockets: false, shellAllow: [], stateStores: [] };
  expect(read(HEAD)).toMatchObject(none);
  expect(read(`${HEAD}artifacts:\ncapabilities:\n  shell:\n    allow:\n`)).toMatchObject(none);
  for (const value of ["x", "{}", "~"]) {
    expect(read(`${HEAD}capabilities: {shell: {allow: ${value}}}`)).toBe(
      "capabilities.shell.allow: must be a list",
    );
  }
});

test("a text may hold in its middle what it must not begin or end with", () => {
  expect(read(`${HEAD}capabilities: {filesystem: {scope: " a\\uFEFF\\x85b "}}`)).toMatchObject({
    filesystemScope: "a\ufeff\u0085b",
  });
});
