import { expect, test } from "bun:test";
import { loggedPath } from "../../src/api/answer.ts";
import { loggedCapsule, loggedSentence } from "../../src/log/fields.ts";
import type { ArtifactVersion } from "../../src/registry/artifact-name.ts";
import { nameOf } from "../kit/in-process.ts";

const TOKEN = `msc1.${"e".repeat(90)}.${"m".repeat(43)}`;
const HASH = /^sha256:[0-9a-f]{16}$/;
const at = (path: string) => loggedPath({ url: `http://127.0.0.1:7700${path}` });

test("the part of a path that matches a route is logged", () => {
  for (const path of ["/health", "/spawn", "/register", "/deregister"]) {
    expect(at(path)).toEqual({ path });
    expect(at(`${path}?${TOKEN}`)).toEqual({ path });
  }
  expect(at(`/status/${TOKEN}`)).toEqual({ path: "/status", session: expect.stringMatching(HASH) });
});

test("the path is found where the runtime gives it alone, as for a request without a Host", () => {
  for (const url of ["/health", "/register?/a"])
    expect(loggedPath({ url })).toEqual({ path: url.split("?")[0] });
  expect(loggedPath({ url: "/register/abc" })).toEqual({ path: "/register", path_length: 13 });
  expect(loggedPath({ url: "http://a/health" })).toEqual({ path: "/health" });
});

test("any other path is logged as its first component and its length", () => {
  expect(at("/favicon.ico")).toEqual({ path: expect.stringMatching(HASH), path_length: 12 });
  expect(at("/")).toEqual({ path: "/", path_length: 1 });
  expect(at(`/api/${TOKEN}`)).toEqual({ path: "/api", path_length: 5 + TOKEN.length });
  expect(at(`/spawn/${TOKEN}`)).toEqual({ path: "/spawn", path_length: 7 + TOKEN.length });
});

test("no form of a token appears in a logged path or version", () => {
  const forms = [
    TOKEN,
    TOKEN.replaceAll(".", "%2E"),
    TOKEN.toUpperCase(),
    TOKEN.replace("m", "%6d"),
    `a%2f${TOKEN}`,
  ];
  for (const form of forms) {
    for (const path of [`/${form}`, `/status/${form}`, `/x/${form}`, `/status/${form}/`, `//${form}`]) {
      expect(JSON.stringify(at(path))).not.toMatch(/e{20}|m{20}/i);
    }
    const capsule = loggedCapsule({ name: nameOf("local/a"), version: form as ArtifactVersion });
    expect(capsule).toMatch(/^local\/a@sha256:[0-9a-f]{16}$/);
  }
});

test("a version that parts a token is not shown, nor is a sentence that quotes it", () => {
  const payload = "eyJ2IjoxLCJzaWQi".repeat(6);
  for (const between of [" ", "@", ":", ",", "'", "(", "\u200b"]) {
    const version = `${payload.slice(0, 50)}${between}${payload.slice(50)}` as ArtifactVersion;
    const coordinates = { name: nameOf("local/a"), version };
    expect(loggedCapsule(coordinates)).toMatch(/^local\/a@sha256:[0-9a-f]{16}$/);
    const sentence = `registry error for 'local/a/${version}': not found`;
    expect(loggedSentence(sentence, coordinates)).toMatch(/^sha256:[0-9a-f]{16}$/);
  }
});

test("a version without a token is logged up to 64 characters", () => {
  const shown = (version: string) =>
    loggedCapsule({ name: nameOf("local/a"), version: version as ArtifactVersion });
  expect(shown("1.0.0")).toBe("local/a@1.0.0");
  expect(shown("1".repeat(64))).toBe(`local/a@${"1".repeat(64)}`);
  for (const hidden of ["1".repeat(65), "msc1.x"])
    expect(shown(hidden)).toMatch(/^local\/a@sha256:[0-9a-f]{16}$/);
});
