/** Which files a test loads, and so which changes it can notice. */

import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";

/** Every file that the one at `path` loads, itself among them: by an import, or as a program that it names. */
export function loadedBy(path: string): ReadonlySet<string> {
  const loaded = new Set<string>([path]);
  // The loop also visits what is added during it.
  for (const file of loaded) {
    for (const [, named = ""] of readFileSync(file, "utf8").matchAll(/"([^"\n]+\.ts)"/g)) {
      const other = join(dirname(file), named);
      if (existsSync(other)) loaded.add(other);
    }
  }
  return loaded;
}
