import { compile } from "../../examples/compile.ts";
import { cachedProgram } from "./program-cache.ts";

/** The program as a binary of its own, both of Bun's autoloads off. */
export function compiled(source: string): Promise<string> {
  return cachedProgram(source, (path) => compile(source, path));
}
