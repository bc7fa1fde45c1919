/** A folder of artifacts for each test of a file, and registries that read it. */

import { afterEach, beforeEach } from "bun:test";
import { join } from "node:path";
import type { ArtifactVersion } from "../../src/registry/artifact-name.ts";
import { type Manifest, type ManifestReading, readManifest } from "../../src/registry/manifest.ts";
import { Registry } from "../../src/registry/registry.ts";
import type { SpareDescriptors } from "../../src/registry/spare-descriptors.ts";
import { nameOf } from "../kit/in-process.ts";
import { scratchDirectory } from "../kit/scratch.ts";

/** Later than the time of any file, so that every file is settled. */
export const SETTLED = () => Date.now() + 1000;

export function coordinates(name: string, version = "0.1.0") {
  return { name: nameOf(name), version: version as ArtifactVersion };
}

/** What the registry says of an artifact: `resolved`, or why it is not. */
export async function messageOf(registry: Registry<Manifest>, name: string): Promise<string> {
  const resolution = await registry.resolve(coordinates(name));
  return resolution.ok ? "resolved" : resolution.message;
}

export interface CreateOptions {
  readonly platform?: string;
  readonly now?: () => number;
  readonly capacity?: number;
  readonly descriptors?: SpareDescriptors;
  /** Called while a manifest is read. */
  readonly meanwhile?: () => void;
}

/** Called at the top of a test file. */
export function testArtifacts() {
  let scratch: ReturnType<typeof scratchDirectory>;
  let reads = 0;
  beforeEach(() => {
    scratch = scratchDirectory();
    reads = 0;
  });
  afterEach(() => scratch[Symbol.dispose]());
  return {
    path: () => scratch.path,
    /** How many manifests the registries have read. */
    reads: () => reads,
    forgetReads() {
      reads = 0;
    },
    /** The path of an artifact at 0.1.0, without `.mur.zip`. */
    base: (name: string) => join(scratch.path, name, "0.1.0", `${name.split("/")[1]}-0.1.0`),
    create: ({ meanwhile, ...options }: CreateOptions = {}) =>
      new Registry<Manifest>({
        path: scratch.path,
        readManifest(source): ManifestReading {
          reads++;
          meanwhile?.();
          return readManifest(source);
        },
        lower: (manifest) => manifest,
        now: SETTLED,
        ...options,
      }),
  };
}
