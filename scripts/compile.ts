/**
 * Compiles mur-roost. `npm run build` and `npm run release` both use this, so the binary that the tests run is built the
 * same way as the released ones.
 */
import { chmod, mkdir, rm } from "node:fs/promises";
import { dirname, join } from "node:path";

/** The repository's root. */
export const ROOT = join(import.meta.dir, "..");

const MAIN = join(ROOT, "src/main.ts");

/**
 * Packages that a dependency uses only if they are installed. They are left out, so that the executable does not depend on
 * what else is in `node_modules`.
 */
const UNDECLARED = ["supports-color"];

type CompileRequest = {
  /** Absolute path of the executable to write. */
  readonly outfile: string;
  /** Another platform's runtime. Without it: this machine's, which is the Bun that runs this script. */
  readonly cross?: {
    readonly target: Bun.Build.CompileTarget;
    /** Absolute path of that platform's Bun, fetched and checked beforehand, so that the build downloads nothing. */
    readonly runtime: string;
  };
  /** Differences from the released options, to measure the effect of each. */
  readonly variant?: { readonly bytecode?: boolean; readonly minify?: boolean };
};

/**
 * Writes one executable.
 *
 * @returns what it is made of
 * @throws {Error} with the bundler's messages, one per line; then there is no file at `outfile`
 */
export async function compile(request: CompileRequest): Promise<Bun.BuildMetafile> {
  const { outfile, cross, variant = {} } = request;
  await mkdir(dirname(outfile), { recursive: true });
  // A running daemon keeps the old file; writing over it in place would fail with "text file busy".
  await rm(outfile, { force: true });
  const built = await Bun.build({
    entrypoints: [MAIN],
    target: "bun",
    format: "esm",
    external: UNDECLARED,
    metafile: true,
    // Code behind a dynamic import is then loaded only when it is used, not at each start.
    splitting: true,
    minify: variant.minify ?? true,
    bytecode: variant.bytecode ?? true,
    sourcemap: "none",
    // The operator may set NODE_ENV, and no library may change its behaviour with it.
    define: { "process.env.NODE_ENV": '"production"' },
    compile: {
      outfile,
      // The daemon ignores configuration files in the current directory.
      autoloadDotenv: false,
      autoloadBunfig: false,
      autoloadTsconfig: false,
      autoloadPackageJson: false,
      ...(cross === undefined ? {} : { target: cross.target, executablePath: cross.runtime }),
    },
    throw: false,
  });
  if (!built.success || !built.metafile) {
    await rm(outfile, { force: true });
    throw new Error(["compilation failed:", ...built.logs.map(String)].join("\n"));
  }
  // The bundler applies the umask, but everyone must be able to run an installed command.
  await chmod(outfile, 0o755);
  return built.metafile;
}
