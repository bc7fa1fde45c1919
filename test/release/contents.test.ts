/** What the notices and the bill of materials say is in the executable, and what is. */

import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import lock from "../../package-lock.json" with { type: "json" };
import { compile, ROOT } from "../../scripts/compile.ts";
import { billOfMaterialsText } from "../../scripts/release/bill-of-materials.ts";
import { bundledPackages } from "../../scripts/release/bundled.ts";
import { type Contents, noticesText } from "../../scripts/release/notices.ts";
import { runtimeParts } from "../../scripts/release/runtime-parts.ts";
import { scratchDirectory } from "../kit/scratch.ts";

setDefaultTimeout(120_000);

const scratch = scratchDirectory();
afterAll(() => scratch[Symbol.dispose]());

let contents: Contents;
let executable: string;
beforeAll(async () => {
  executable = join(scratch.path, "mur-roost");
  // Not minified: names and comments tell whose code it is.
  const metafile = await compile({ outfile: executable, variant: { minify: false, bytecode: false } });
  contents = { runtime: Bun.version, parts: runtimeParts(), packages: await bundledPackages(metafile) };
});

/** Packages with a module in the executable, found by the paths that the bundler writes next to each module. */
function packagesInBytes(): string[] {
  const text = readFileSync(executable, "latin1");
  const found = text.matchAll(/\/\/ (?:\.\.\/)*node_modules\/((?:@[\w.-]+\/)?[\w.-]+)\//g);
  return [...new Set([...found].map(([, name = ""]) => name))].sort();
}

test("the packages are those whose code is in the executable", () => {
  const listed = contents.packages.map(({ name }) => name);
  expect(listed).toContain("elysia");
  expect(listed).toEqual(packagesInBytes());
});

test("no package is listed only because it lies in node_modules", () => {
  const packages: Readonly<Record<string, Locked>> = JSON.parse(JSON.stringify(lock.packages));
  const asked = new Set<string>();
  const pending = sourceImports();
  for (let name = pending.pop(); name !== undefined; name = pending.pop()) {
    if (asked.has(name)) continue;
    asked.add(name);
    const {
      dependencies = {},
      peerDependencies = {},
      peerDependenciesMeta = {},
    } = packages[`node_modules/${name}`] ?? {};
    pending.push(...Object.keys(dependencies));
    pending.push(...Object.keys(peerDependencies).filter((peer) => !peerDependenciesMeta[peer]?.optional));
  }
  expect(contents.packages.map(({ name }) => name).filter((name) => !asked.has(name))).toEqual([]);
});

interface Locked {
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>;
}

/** The packages that the sources import. */
function sourceImports(): string[] {
  const transpiler = new Bun.Transpiler({ loader: "ts" });
  return readdirSync(join(ROOT, "src"), { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".ts"))
    .flatMap((file) => transpiler.scanImports(readFileSync(join(ROOT, "src", file), "utf8")))
    .map(({ path }) => /^(@[^/]+\/)?[^./][^/]*/.exec(path)?.[0] ?? "")
    .filter((name) => name !== "");
}

test("the notices name the runtime, its libraries and every package, with licence texts", async () => {
  const text = await noticesText(contents);
  expect(text).toContain(`Bun ${Bun.version}\nMIT\n`);
  expect(text).toContain(`JavaScriptCore (WebKit) ${process.versions.webkit}, LGPL-2.0-or-later`);
  expect(text).toContain("GNU LIBRARY GENERAL PUBLIC LICENSE");
  expect(text).toContain("GNU LESSER GENERAL PUBLIC LICENSE");
  for (const { name, version, licence, licenceText } of contents.packages) {
    expect(licenceText.length).toBeGreaterThan(200);
    expect(text).toContain(`\n${name} ${version}\n${licence}\n\n${licenceText}\n`);
  }
});

test("the bill of materials lists the same packages, and has the same bytes each time", () => {
  const text = billOfMaterialsText("0.1.0", contents);
  expect(billOfMaterialsText("0.1.0", contents)).toBe(text);
  const bom = JSON.parse(text);
  expect(bom).toMatchObject({
    bomFormat: "CycloneDX",
    specVersion: "1.6",
    metadata: { component: { type: "application", name: "mur-roost", version: "0.1.0" } },
  });
  expect(bom.serialNumber).toBeUndefined();
  const listed = bom.components.map(({ name, version }: Record<string, string>) => `${name} ${version}`);
  const expected = [{ name: "bun", version: Bun.version }, ...contents.parts, ...contents.packages];
  expect(listed.sort()).toEqual(expected.map(({ name, version }) => `${name} ${version}`).sort());
  const elysia = bom.components.find(({ name }: { name: string }) => name === "elysia");
  const { integrity } = lock.packages["node_modules/elysia"];
  const sum = Buffer.from(integrity.slice("sha512-".length), "base64").toString("hex");
  expect(elysia).toMatchObject({
    purl: `pkg:npm/elysia@${elysia.version}`,
    licenses: [{ license: { id: "MIT" } }],
    hashes: [{ alg: "SHA-512", content: sum }],
  });
});

test("a library missing from the runtime's table stops the release", () => {
  expect(() => runtimeParts({ ...process.versions, newlib: "1.0" })).toThrow("newlib");
});
