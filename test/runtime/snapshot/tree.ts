/** A folder as a test compares it: every entry with what the copy must keep of it. */

import { lstatSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { join } from "node:path";

export interface Seen {
  readonly kind: "file" | "directory" | "link" | "other";
  readonly mode?: number;
  readonly modified?: bigint;
  readonly content?: string;
}

/** By path from the folder, names as latin-1 so that each byte counts. */
export function readTree(folder: string): Map<string, Seen> {
  const seen = new Map<string, Seen>();
  const visit = (directory: Buffer, path: string) => {
    for (const name of readdirSync(directory, { encoding: "buffer" })) {
      const at = Buffer.concat([directory, Buffer.from("/"), name]);
      const key = path + name.toString("latin1");
      const status = lstatSync(at, { bigint: true });
      const kept = { mode: Number(status.mode) & 0o7777, modified: status.mtimeNs };
      if (status.isDirectory()) {
        seen.set(key, { kind: "directory", ...kept });
        visit(at, `${key}/`);
      } else if (status.isFile()) {
        const hash = new Bun.CryptoHasher("sha256").update(readFileSync(at)).digest("hex");
        seen.set(key, { kind: "file", ...kept, content: `${status.size}:${hash}` });
      } else if (status.isSymbolicLink()) {
        seen.set(key, { kind: "link", content: readlinkSync(at, { encoding: "buffer" }).toString("latin1") });
      } else {
        seen.set(key, { kind: "other" });
      }
    }
  };
  visit(Buffer.from(join(folder)), "");
  return seen;
}
