/** A file that is made from the code and kept in the repository. */

import { relative } from "node:path";
import { ROOT } from "./compile.ts";

/**
 * The program of a script that writes such a file; `--check` only tells whether it is stale.
 *
 * @param script the npm script that writes it
 */
export async function writeOrCheck(path: string, text: string, script: string): Promise<void> {
  const args = process.argv.slice(2);
  const unknown = args.find((argument) => argument !== "--check");
  if (unknown !== undefined) {
    process.stderr.write(`${script}: unknown argument: ${unknown} (only --check is known)\n`);
    process.exit(1);
  }
  const file = Bun.file(path);
  if (!args.includes("--check")) {
    await Bun.write(file, text);
  } else if (!(await file.exists()) || (await file.text()) !== text) {
    process.stderr.write(`${relative(ROOT, path)} is stale: run npm run ${script}\n`);
    process.exitCode = 1;
  }
}
