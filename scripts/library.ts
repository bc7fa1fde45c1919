/**
 * `npm run build:library`: writes `library/`, the content of the npm package. The bundler makes JavaScript and source
 * maps, the compiler makes declarations with their docstrings.
 *
 * The entry points are `src/<name>/index.ts`, and their imports are followed from there.
 */
import { mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { messageOf } from "../src/os-error.ts";
import { temporaryFolder } from "./before-an-end.ts";
import { ROOT } from "./compile.ts";
import { slimSourceMap } from "./library/source-map.ts";

/** Where the library is written. */
const LIBRARY = join(ROOT, "library");

/** `mur-roost/<name>` is `src/<name>/index.ts`. */
export const ENTRY_POINTS: readonly string[] = ["runtime", "formation"];

const SOURCES = ENTRY_POINTS.map((name) => join(ROOT, "src", name, "index.ts"));

/**
 * Builds the library next to `place` and moves it there when it is complete.
 *
 * @throws {Error} with the bundler's or the compiler's messages; then `place` is unchanged
 */
async function buildLibrary(place: string): Promise<void> {
  await mkdir(dirname(place), { recursive: true });
  using scratch = temporaryFolder(join(dirname(place), ".library-"));
  const made = join(scratch.path, "library");
  await Promise.all([writePrograms(made), writeDeclarations(made, scratch.path)]);
  await rm(place, { recursive: true, force: true });
  await rename(made, place);
}

/** Code that both entry points use goes into one chunk, so that a class is the same class in both. */
async function writePrograms(place: string): Promise<void> {
  const built = await Bun.build({
    entrypoints: SOURCES,
    root: join(ROOT, "src"),
    outdir: place,
    target: "bun",
    format: "esm",
    packages: "external",
    splitting: true,
    sourcemap: "linked",
    throw: false,
  });
  if (!built.success) throw new Error(["the bundler failed:", ...built.logs.map(String)].join("\n"));
  for (const { kind, path } of built.outputs) {
    if (kind === "sourcemap") await writeFile(path, slimSourceMap(await readFile(path, "utf8")));
  }
}

/** Writes only the declarations that the entry points' declarations need. */
async function writeDeclarations(place: string, scratch: string): Promise<void> {
  const all = join(scratch, "declarations");
  await compileDeclarations(all, scratch);
  const pending = ENTRY_POINTS.map((name) => join(name, "index.d.ts"));
  const written = new Set<string>();
  for (let file = pending.pop(); file !== undefined; file = pending.pop()) {
    if (written.has(file)) continue;
    written.add(file);
    const text = await readFile(join(all, file), "utf8");
    for (const specifier of relativeImports(text)) {
      pending.push(join(dirname(file), specifier.replace(/\.ts$/, ".d.ts")));
    }
    await mkdir(dirname(join(place, file)), { recursive: true });
    await writeFile(join(place, file), withoutTsSpecifiers(text));
  }
}

async function compileDeclarations(place: string, scratch: string): Promise<void> {
  const config = join(scratch, "tsconfig.json");
  const options = {
    extends: join(ROOT, "tsconfig.json"),
    compilerOptions: {
      noEmit: false,
      declaration: true,
      emitDeclarationOnly: true,
      rewriteRelativeImportExtensions: true,
      rootDir: join(ROOT, "src"),
      outDir: place,
      typeRoots: [join(ROOT, "node_modules")],
    },
    include: [],
    files: SOURCES,
  };
  await writeFile(config, JSON.stringify(options));
  const compiler = Bun.spawn([join(ROOT, "node_modules", ".bin", "tsc"), "-p", config], {
    cwd: ROOT,
    stdio: ["ignore", "pipe", "inherit"],
  });
  const said = await compiler.stdout.text();
  if ((await compiler.exited) !== 0) throw new Error(`the compiler failed:\n${said.trim()}`);
}

/** Matches `from "./x.ts"` and `import("./x.ts")`. */
const RELATIVE_IMPORT = /((?:\bfrom|\bimport\()\s*")(\.{1,2}\/[^"]+)(")/g;

function relativeImports(text: string): string[] {
  return [...text.matchAll(RELATIVE_IMPORT)].map(([, , specifier = ""]) => specifier);
}

/** The compiler rewrites `.ts` only in JavaScript. In declarations every resolution mode understands `.js`. */
function withoutTsSpecifiers(text: string): string {
  return text.replace(
    RELATIVE_IMPORT,
    (_, before, specifier, after) => `${before}${specifier.replace(/\.ts$/, ".js")}${after}`,
  );
}

if (import.meta.main) {
  const unknown = process.argv.slice(2).find((flag) => flag !== "--quiet");
  if (unknown !== undefined) {
    process.stderr.write(`library: unknown argument: ${unknown} (only --quiet is known)\n`);
    process.exit(1);
  }
  try {
    await buildLibrary(LIBRARY);
  } catch (error) {
    process.stderr.write(`library: ${messageOf(error)}\n`);
    process.exit(1);
  }
  if (!process.argv.includes("--quiet"))
    process.stdout.write(`${relative(process.cwd(), LIBRARY) || LIBRARY}\n`);
}
