/**
 * How mur-roost is compiled, said once: `npm run build` and `npm run release` both come through here, so the
 * binary that the tests drive is built the way the released ones are.
 */
import { chmod, mkdir, rm } from "node:fs/promises";
import { dirname, join } from "node:path";

/** The repository's root. */
export const ROOT = join(import.meta.dir, "..");

const MAIN = join(ROOT, "src/main.ts");

/**
 * Packages that a dependency uses only if they happen to be installed. They stay out: the executable must not depend on
 * what else is in `node_modules`.
 */
const UNDECLARED = ["supports-color"];

export type CompileRequest = {
  /** Absolute path of the executable to write. */
  readonly outfile: string;
  /** Another platform's runtime. Without it: this machine's, which is the Bun that runs this script. */
  readonly cross?: {
    readonly target: Bun.Build.CompileTarget;
    /** Absolute path of that platform's Bun, fetched and checked beforehand, so that the build downloads nothing. */
    readonly runtime: string;
  };
  /** Departures from the released options, for measuring what each of them is worth. */
  readonly variant?: { readonly bytecode?: boolean; readonly minify?: boolean };
};

/**
 * Writes one executable.
 *
 * @returns what it is made of
 * @throws {Error} with the bundler's messages, one a line; nothing is left at `outfile` then.
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
    // What is imported at its first use is read from the executable then, not at each start.
    splitting: true,
    minify: variant.minify ?? true,
    bytecode: variant.bytecode ?? true,
    sourcemap: "none",
    // NODE_ENV is the operator's variable: no library's behaviour may depend on it.
    define: { "process.env.NODE_ENV": '"production"' },
    compile: {
      outfile,
      // Hermetic: nothing in the directory that the daemon is started from may change it.
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
  // The bundler honours the umask; an installed command is executable by everybody.
  await chmod(outfile, 0o755);
  return built.metafile;
}
