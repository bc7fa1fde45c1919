import { expect, test } from "bun:test";
import { dirname, join } from "node:path";
import { absolutePath, pathBelow } from "../src/paths.ts";

const HERE = process.cwd();

test("a path is absolute, and its ordinary values are as anybody would write them", () => {
  const paths: [path: string, absolute: string][] = [
    ["/", "/"],
    ["/a/b", "/a/b"],
    ["//a/.//b/", "/a/b"],
    ["a", `${HERE}/a`],
    ["./a/", `${HERE}/a`],
    ["~/a", `${HERE}/~/a`],
    [".", HERE],
    ["..", dirname(HERE)],
    [".././../a", join(dirname(dirname(HERE)), "a")],
    ["/..", "/.."],
  ];
  for (const [path, absolute] of paths) expect([path, absolutePath(path)]).toEqual([path, absolute]);
});

test("a .. that may stand behind a link stays", () => {
  expect(absolutePath("/a/link/../b")).toBe("/a/link/../b");
  expect(absolutePath("../link/../b/..")).toBe(`${join(dirname(HERE), "link")}/../b/..`);
  expect(pathBelow("/a/link/..", "b", "c")).toBe("/a/link/../b/c");
});

test("names are put below a folder with one slash", () => {
  expect(["/", "/a", "/a/", "a", "."].map((folder) => pathBelow(folder, "b", "c"))).toEqual([
    "/b/c",
    "/a/b/c",
    "/a/b/c",
    "a/b/c",
    "b/c",
  ]);
});
