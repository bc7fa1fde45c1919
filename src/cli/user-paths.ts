/** Paths as the user of an npm script means them: npm runs scripts in the package's folder, not in the user's. */

import { isAbsolute } from "node:path";
import { absolutePath, pathBelow } from "../paths.ts";

export function userPath(path: string): string {
  return absolutePath(path, process.env.INIT_CWD ?? process.cwd());
}

/** `~/.murmur/artifacts`, or `undefined` if `HOME` is not an absolute path. */
export function defaultRegistry(): string | undefined {
  const home = process.env.HOME ?? "";
  return isAbsolute(home) ? pathBelow(home, ".murmur", "artifacts") : undefined;
}
