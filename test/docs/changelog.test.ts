import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import manifest from "../../package.json" with { type: "json" };
import { ROOT } from "../kit/documents.ts";

const KINDS = ["Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"];

test("the changelog begins with unreleased changes, followed by the current version", () => {
  const text = readFileSync(join(ROOT, "CHANGELOG.md"), "utf8");
  const versions = [...text.matchAll(/^## \[([^\]]+)\]/gm)].map(([, version]) => version);
  expect(versions.slice(0, 2)).toEqual(["Unreleased", manifest.version]);
  expect(versions.at(-1)).toBe("0.1.0");
  const kinds = [...text.matchAll(/^### (.+)$/gm)].map(([, kind = ""]) => kind);
  expect(kinds.filter((kind) => !KINDS.includes(kind))).toEqual([]);
});
