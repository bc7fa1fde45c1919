/** Dependencies point one way (CONTRIBUTING.md, "The layout"). */

import { expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";

const SRC = join(import.meta.dir, "../src");

const files = readdirSync(SRC, { recursive: true, encoding: "utf8" })
  .filter((name) => name.endsWith(".ts"))
  .sort();

/** What a file imports, types too: paths from `src`, and names of packages. */
function importsOf(file: string): string[] {
  const text = readFileSync(join(SRC, file), "utf8");
  const dynamic = new Bun.Transpiler({ loader: "ts" }).scanImports(text).map(({ path }) => path);
  // The scanner leaves out what is imported for its types alone.
  const written = [...text.matchAll(/^(?:import|export) [^;]*? from "([^"]+)"/gm)].map(
    ([, path = ""]) => path,
  );
  return [...new Set([...dynamic, ...written])].map((path) =>
    path.startsWith(".") ? relative(SRC, join(SRC, dirname(file), path)) : path,
  );
}

const imports = new Map(files.map((file) => [file, importsOf(file)] as const));

/** Imports of these files that are not allowed, as `file -> what`. */
function found(folder: string, isForbidden: (imported: string) => boolean): string[] {
  return files
    .filter((file) => file.startsWith(folder))
    .flatMap((file) => (imports.get(file) ?? []).filter(isForbidden).map((what) => `${file} -> ${what}`));
}

test("the scan sees what the files import", () => {
  expect(imports.get("main.ts")).toContain("program.ts");
  expect(imports.get("api/app.ts")).toContain("api/spawn.ts");
  expect(imports.get("api/elysia.ts")).toContain("elysia");
});

test("only the routes import Elysia, and only the system folder imports FFI", () => {
  const elysia = files.filter((file) => imports.get(file)?.includes("elysia"));
  expect(elysia.filter((file) => !file.startsWith("api/") && !file.startsWith("runtime/"))).toEqual([]);
  const ffi = files.filter((file) => imports.get(file)?.includes("bun:ffi"));
  expect(ffi).not.toEqual([]);
  expect(ffi.filter((file) => !file.startsWith("sys/"))).toEqual([]);
});

test("the rules and the tokens use no file, process or network", () => {
  const isWorld = (imported: string) => imported.startsWith("node:") || imported.startsWith("sys/");
  expect(found("referee/", isWorld)).toEqual([]);
  expect(found("tokens/", isWorld)).toEqual([]);
  expect(found("sessions/", isWorld)).toEqual([]);
});

test("nothing that the routes import imports the routes, the daemon or the library", () => {
  const above = /^(?:api|cli|runtime|formation)\/|^(?:main|program|daemon)\.ts$/;
  for (const folder of ["referee/", "tokens/", "sessions/", "registry/", "census/", "log/", "sys/"]) {
    expect(found(folder, (imported) => above.test(imported))).toEqual([]);
  }
  expect(
    found("api/", (imported) => /^(?:cli|runtime|formation)\/|^(?:main|program|daemon)\.ts$/.test(imported)),
  ).toEqual([]);
});

test("the preview of a formation uses the registry and the referee", () => {
  expect(
    found("formation/", (imported) => /^(?:api|census|sessions|tokens|runtime|cli|sys)\//.test(imported)),
  ).toEqual([]);
});

test("the library shares with the daemon only schemas, names, the guard and the reading of artifacts", () => {
  const shared =
    /^(?:runtime|registry|sys|log)\/|^api\/schemas\.ts$|^(?:guard|os-error|printable|json|json-body|paths|request-path|result|slices|version)\.ts$/;
  const isOwn = (imported: string) => /^[a-z-]+(?:\/.*)?\.ts$/.test(imported);
  expect(found("runtime/", (imported) => isOwn(imported) && !shared.test(imported))).toEqual([]);
});

test("no files import each other in a cycle", () => {
  const done = new Set<string>();
  const circles: string[] = [];
  const visit = (file: string, way: readonly string[]): void => {
    const at = way.indexOf(file);
    if (at !== -1) circles.push([...way.slice(at), file].join(" -> "));
    if (at !== -1 || done.has(file)) return;
    for (const next of imports.get(file) ?? []) if (imports.has(next)) visit(next, [...way, file]);
    done.add(file);
  };
  for (const file of files) visit(file, []);
  expect(circles).toEqual([]);
});
