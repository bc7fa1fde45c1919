/** Bytes as the ZIP reader sees them on disk. */

import { closeSync, openSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { HashedFile } from "../../../src/registry/zip/hashed-file.ts";
import { scratchDirectory } from "../../kit/scratch.ts";

/** Hands a file of those bytes to `use`, with its path; the file is gone afterwards. */
export function withFile<T>(bytes: Uint8Array, use: (file: HashedFile, path: string) => T): T {
  using scratch = scratchDirectory();
  const path = join(scratch.path, "archive");
  writeFileSync(path, bytes);
  const descriptor = openSync(path, "r");
  try {
    return use(new HashedFile(descriptor, bytes.length), path);
  } finally {
    closeSync(descriptor);
  }
}
