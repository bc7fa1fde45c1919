/** The compiled daemon, as `npm run build` leaves it. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../../scripts/compile.ts";

/** @throws {Error} if it has not been built */
export function compiledBinary(): string {
  const path = join(ROOT, "dist/mur-roost");
  if (!existsSync(path))
    throw new Error(`${path} is missing: run 'npm run build', or 'npm test', which builds it`);
  return path;
}
