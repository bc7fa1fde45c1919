/** The package as its users get it: what it holds, its types, its programs run and compiled. */

import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { isBuiltin } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import manifest from "../../package.json" with { type: "json" };
import { ENTRY_POINTS } from "../../scripts/library.ts";
import { installPackage, type Packed, packPackage, run } from "../kit/consumer.ts";
import { ROOT } from "../kit/documents.ts";
import { createHost, publishCapsule } from "../kit/host.ts";
import { documentedPrograms } from "../kit/programs.ts";

setDefaultTimeout(120_000);

const scratch = mkdtempSync(join(realpathSync(tmpdir()), "mur-roost-package-"));
const consumer = join(scratch, "consumer");
const programs = join(consumer, "programs");
let packed: Packed;

beforeAll(async () => {
  mkdirSync(programs, { recursive: true });
  packed = await packPackage(scratch);
  await installPackage(packed, consumer);
  for (const { name, text } of documentedPrograms()) writeFileSync(join(programs, name), text);
});
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

test("the package holds only the library, without the daemon, the tests, the bench and the release", () => {
  const [inside, others] = [packed.files.filter((path) => path.startsWith("library/")), packed.files];
  expect(others.filter((path) => !path.startsWith("library/")).sort()).toEqual([
    "CHANGELOG.md",
    "LICENSE",
    "README.md",
    "package.json",
  ]);
  expect(inside.filter((path) => !/\.(d\.ts|js|js\.map)$/.test(path))).toEqual([]);
  expect(packed.files.length).toBeLessThan(100);
  expect(packed.unpackedSize).toBeLessThan(1.2e6);
});

test("every entry point of the library is exported, as JavaScript with declarations and a source map", () => {
  expect(ENTRY_POINTS).toContain("runtime");
  const expected = ENTRY_POINTS.map((name) => [
    `./${name}`,
    { types: `./library/${name}/index.d.ts`, default: `./library/${name}/index.js` },
  ]);
  expect<object>(manifest.exports).toEqual(Object.fromEntries(expected));
  for (const name of ENTRY_POINTS) {
    const files = ["index.d.ts", "index.js", "index.js.map"].map((file) => `library/${name}/${file}`);
    expect(packed.files).toEqual(expect.arrayContaining(files));
    const map = JSON.parse(
      readFileSync(join(consumer, `node_modules/mur-roost/library/${name}/index.js.map`), "utf8"),
    );
    expect(map.sources.filter((source: string) => source.startsWith("/"))).toEqual([]);
    expect(map.sourcesContent.length).toBe(map.sources.length);
  }
});

test("the package's dependencies are exactly what the library imports", () => {
  const imported = new Set<string>();
  for (const path of packed.files.filter((file) => file.startsWith("library/"))) {
    const text = readFileSync(join(consumer, "node_modules/mur-roost", path), "utf8");
    if (path.endsWith(".js")) {
      for (const { path: name } of new Bun.Transpiler().scanImports(text)) imported.add(name);
    } else if (path.endsWith(".d.ts")) {
      for (const [, name = ""] of text.matchAll(/\bfrom "([^"]+)"/g)) imported.add(name);
    }
  }
  const packages = [...imported]
    .filter((name) => !name.startsWith(".") && !isBuiltin(name))
    .map((name) => /^(@[^/]+\/)?[^/]+/.exec(name)?.[0]);
  expect([...new Set(packages)].sort()).toEqual(Object.keys(manifest.dependencies).sort());
});

test("every exported name has a docstring that an editor shows", () => {
  const bare = ENTRY_POINTS.flatMap((entry) => {
    const folder = join(consumer, "node_modules/mur-roost/library", entry);
    const index = readFileSync(join(folder, "index.d.ts"), "utf8");
    const exported = [...index.matchAll(/export (?:type )?\{([^}]+)\} from "([^"]+)"/g)];
    expect(exported.length).toBeGreaterThan(5);
    return exported.flatMap(([, names = "", from = ""]) => {
      const declarations = readFileSync(join(folder, from.replace(/\.js$/, ".d.ts")), "utf8");
      return names
        .split(",")
        .map((name) => name.replace(/\btype /, "").trim())
        .filter((name) => name !== "" && !isDocumented(declarations, name))
        .map((name) => `${from}: ${name}`);
    });
  });
  expect(bare).toEqual([]);
});

function isDocumented(declarations: string, name: string): boolean {
  return new RegExp(`\\*/\\nexport (declare )?(interface|type|function|const|class) ${name}\\b`).test(
    declarations,
  );
}

const STRICT = { strict: true, target: "ESNext", lib: ["ESNext"], types: ["bun"], noEmit: true };
const NODENEXT = { ...STRICT, module: "NodeNext", moduleResolution: "NodeNext" };
const BUNDLER = { ...STRICT, module: "Preserve", moduleResolution: "bundler" };
const CONFIGURATIONS: Readonly<Record<string, object>> = {
  "strict with bundler": BUNDLER,
  // What `bun init` of the pinned version writes.
  "bun init's own": {
    lib: ["ESNext"],
    target: "ESNext",
    module: "Preserve",
    moduleDetection: "force",
    jsx: "react-jsx",
    allowJs: true,
    types: ["bun"],
    moduleResolution: "bundler",
    allowImportingTsExtensions: true,
    verbatimModuleSyntax: true,
    noEmit: true,
    strict: true,
    skipLibCheck: true,
    noFallthroughCasesInSwitch: true,
    noUncheckedIndexedAccess: true,
    noImplicitOverride: true,
  },
  "the strictest": {
    ...NODENEXT,
    noPropertyAccessFromIndexSignature: true,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
  },
};

test.each(Object.keys(CONFIGURATIONS))("the documents' programs type-check with %s", async (name) => {
  const config = join(consumer, `tsconfig.${Object.keys(CONFIGURATIONS).indexOf(name)}.json`);
  writeFileSync(config, JSON.stringify({ compilerOptions: CONFIGURATIONS[name], include: ["programs"] }));
  const told = await run([join(ROOT, "node_modules/.bin/tsc"), "-p", config, "--pretty", "false"], consumer);
  expect(told).toBe("");
});

test("a mistake in a program is reported: the declarations are not any", async () => {
  writeFileSync(
    join(consumer, "wrong.ts"),
    'import { newId } from "mur-roost/runtime";\nexport const id: number = newId("ses");\n',
  );
  const config = join(consumer, "tsconfig.wrong.json");
  writeFileSync(
    config,
    JSON.stringify({ compilerOptions: { ...NODENEXT, skipLibCheck: true }, files: ["wrong.ts"] }),
  );
  const checking = run([join(ROOT, "node_modules/.bin/tsc"), "-p", config, "--pretty", "false"], consumer);
  await expect(checking).rejects.toThrow("error TS2322");
});

/** Bodies of the manifests of the capsules that the programs below are. */
const CAPSULES: Readonly<Record<string, string>> = {
  lead: "capabilities: {spawn: {allow: [local/reviewer], workdir_snapshot: [local/reviewer]}}\n",
  reviewer: "capabilities: {resources: {workdir_max_bytes: 1000000}}\n",
  chief: "capabilities: {spawn: {allow: [local/counter]}}\n",
  counter: "description: Counts words.\n",
};

/** Runs a capsule in its own project with a child's program, and returns what it printed. */
async function play(name: string, program: readonly string[], child: string): Promise<string> {
  await using host = createHost();
  const daemon = await host.start(["--spawn-allow", `local/${name}`]);
  for (const [capsule, body] of Object.entries(CAPSULES)) {
    await publishCapsule(host.registry, `local/${capsule}`, body, "1.0.0");
  }
  const project = join(host.home, "project");
  mkdirSync(project);
  writeFileSync(join(project, "plan.md"), "TODO find a name\n");
  const told = await run(
    [...program, "run", "--capsule", `local/${name}`, "--capsule-version", "1.0.0", "--workdir", project],
    project,
    { HOME: host.home, MURMUR_ROOST_URL: daemon.url, MURMUR_MUR_BINARY: child },
  );
  // A child works in its own folder.
  expect(readFileSync(join(project, "plan.md"), "utf8")).toBe("TODO find a name\n");
  return told;
}

/** The child found the one file of its parent's work folder: in the copy that it was started in. */
const REVIEWED = /runs as ses_.+\nit ended: exit status: 0\n1 files, 1 left to do:\nTODO find a name\n$/s;
const COUNTED = '6 words, the longest of them "count".';

async function compile(program: string): Promise<string> {
  const autoloads = ["--no-compile-autoload-dotenv", "--no-compile-autoload-bunfig"];
  const outfile = join(scratch, program);
  const build = [process.execPath, "build", "--compile", ...autoloads];
  await run([...build, `programs/${program}.ts`, "--outfile", outfile], consumer);
  return outfile;
}

test("the programs run, and once compiled they run without the project", async () => {
  const reviewer = await compile("delegation-child");
  const fromSource = [process.execPath, join(programs, "delegation-parent.ts")];
  expect(await play("lead", fromSource, reviewer)).toMatch(REVIEWED);
  const lead = await compile("delegation-parent");
  const chief = await compile("model-main");
  const counter = await compile("outcomes-worker");
  rmSync(consumer, { recursive: true });
  expect(await play("lead", [lead], reviewer)).toMatch(REVIEWED);
  expect(await play("chief", [chief], counter)).toContain(COUNTED);
});
