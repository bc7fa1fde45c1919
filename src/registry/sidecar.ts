/** The `.sha256` file of an artifact: the hash that its bytes must have. */

import { fstatSync, readSync } from "node:fs";
import { describeOsError } from "../os-error.ts";
import type { Sha256 } from "./artifact-name.ts";
import type { SpareDescriptors } from "./spare-descriptors.ts";

const MAX_SIDECAR_BYTES = 4096;
const HEX_SHA256 = /^[0-9a-f]{64}$/;

/** `fault` names the path. `lasting`: it stays true until the file changes, so it is not a failure of the host. */
export type Sidecar =
  | { readonly ok: true; readonly sha256: Sha256 }
  | { readonly ok: false; readonly fault: string; readonly lasting: boolean };

export function readSidecar(path: string, descriptors: SpareDescriptors): Sidecar {
  const refused = (why: string): Sidecar => ({ ok: false, fault: `${path}: ${why}`, lasting: true });
  let descriptor: number | undefined;
  try {
    descriptor = descriptors.open(path);
    if (!fstatSync(descriptor).isFile()) return refused("not a regular file");
    const bytes = Buffer.alloc(MAX_SIDECAR_BYTES + 1);
    const length = readSync(descriptor, bytes);
    if (length > MAX_SIDECAR_BYTES) return refused(`larger than ${MAX_SIDECAR_BYTES} bytes`);
    const text = bytes.toString("latin1", 0, length).trim();
    if (!HEX_SHA256.test(text)) return refused("must hold one lowercase hex SHA-256");
    return { ok: true, sha256: text as Sha256 };
  } catch (error) {
    return { ok: false, fault: `${path}: ${describeOsError(error)}`, lasting: false };
  } finally {
    if (descriptor !== undefined) descriptors.close(descriptor);
  }
}
