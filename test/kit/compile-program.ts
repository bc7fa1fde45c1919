/** Compiles a capsule's program as an author would (docs/runtime.md, "A capsule that can be delegated to"). */

import { dirname } from "node:path";

/**
 * A standalone program that reads no `.env` and no `bunfig.toml` of the folder that it is started in. The tests start these
 * programs hundreds of times: with bytecode a start takes two thirds of the processor time.
 */
export async function compile(source: string, outfile: string): Promise<void> {
  const autoloads = ["--no-compile-autoload-dotenv", "--no-compile-autoload-bunfig"];
  const quick = ["--format=esm", "--bytecode", "--minify"];
  const build = Bun.spawn(
    [process.execPath, "build", "--compile", ...autoloads, ...quick, source, "--outfile", outfile],
    { cwd: dirname(outfile), stdio: ["ignore", "ignore", "pipe"] },
  );
  const said = await new Response(build.stderr).text();
  if ((await build.exited) !== 0) throw new Error(said);
}
