/** Registries for tests: capsules as plain objects, written as the JSON that YAML is a superset of. */

import { rmSync } from "node:fs";
import { join } from "node:path";
import { type Formation, formationText, inspectFormation } from "../../src/formation/index.ts";
import type { FormationRequest } from "../../src/formation/survey.ts";
import { type Envelope, lowerManifest } from "../../src/referee/envelope.ts";
import type { Manifest } from "../../src/registry/manifest.ts";
import { atOnce } from "../../src/slices.ts";
import { packCapsule, publishArchive } from "../kit/publish.ts";
import { scratchDirectory } from "../kit/scratch.ts";

/** What a test says of a capsule; the keys stand under `capabilities`, but for `artifacts`. */
export interface Declared {
  readonly network?: { readonly allow?: readonly string[]; readonly unix_sockets?: boolean };
  readonly peer_fetch?: { readonly allow?: readonly string[] };
  readonly shell?: { readonly allow?: readonly string[] };
  readonly spawn?: { readonly allow?: readonly string[] };
  readonly env?: { readonly allow?: readonly string[] };
  readonly filesystem?: { readonly scope?: string; readonly workdir_exec?: boolean };
  readonly install?: { readonly skill?: readonly string[]; readonly tool?: readonly string[] };
  readonly containment?: string;
  readonly stores?: readonly string[];
}

export function manifestText(
  name: string,
  version: string,
  { stores = [], ...capabilities }: Declared,
): string {
  const artifacts = stores.map((store) => ({ capabilities: { state: { store } } }));
  return JSON.stringify({ name, version, capabilities, artifacts });
}

/** `spawns("local/a")`: a capsule that lists these and declares nothing else. */
export function spawns(...allow: string[]): Declared {
  return { spawn: { allow } };
}

export interface TestRegistry extends Disposable {
  readonly path: string;
  /** Publishes `local/a@1.0.0`. */
  publish(capsule: string, declared?: Declared): Promise<string>;
  /** Publishes these bytes as an archive, valid or not. */
  publishBytes(capsule: string, bytes: Uint8Array): string;
  remove(...names: string[]): void;
  inspect(root: string, more?: Partial<FormationRequest>): Promise<Formation>;
}

export function testRegistry(): TestRegistry {
  const scratch = scratchDirectory();
  const publishBytes = (capsule: string, bytes: Uint8Array) => {
    const [name, version] = parts(capsule);
    return publishArchive(scratch.path, name, version, bytes);
  };
  return {
    path: scratch.path,
    publishBytes,
    async publish(capsule, declared = {}) {
      const [name, version] = parts(capsule);
      const text = manifestText(name.slice(name.indexOf("/") + 1), version, declared);
      return publishBytes(capsule, await packCapsule({ "murmur.yaml": text }));
    },
    remove(...names) {
      for (const name of names) rmSync(join(scratch.path, name), { recursive: true, force: true });
    },
    async inspect(root, more = {}) {
      const reading = await inspectFormation({ root, registryPath: scratch.path, ...more });
      if (!reading.ok) throw new Error(reading.fault);
      return reading.formation;
    },
    [Symbol.dispose]: () => scratch[Symbol.dispose](),
  };
}

/** A registry that holds these capsules, each with what it declares. */
export async function registryOf(capsules: Readonly<Record<string, Declared>>): Promise<TestRegistry> {
  const registry = testRegistry();
  for (const [capsule, declared] of Object.entries(capsules)) await registry.publish(capsule, declared);
  return registry;
}

export function parts(capsule: string): [name: string, version: string] {
  const at = capsule.indexOf("@");
  return [capsule.slice(0, at), capsule.slice(at + 1)];
}

/** The lines of the tree alone. */
export function treeText(formation: Formation): string[] {
  const lines = [...formationText(formation)];
  return lines.slice(0, lines.indexOf(""));
}

/** A manifest, lowered. */
export function held(manifest: Manifest): Envelope {
  return atOnce(lowerManifest(manifest));
}
