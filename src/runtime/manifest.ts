/**
 * The runtime's own reading of a packed manifest: what it grants a session, and what a launch needs to know of a child.
 */

import { join } from "node:path";
import {
  type ArtifactName,
  bareName,
  type Coordinates,
  parseArtifactName,
  type Sha256,
} from "../registry/artifact-name.ts";
import type { Block } from "../registry/block.ts";
import { decodeManifest } from "../registry/manifest.ts";
import { Registry } from "../registry/registry.ts";
import { fault, ok, type Result } from "../result.ts";

/** What a launch needs to know of a child. Whatever else is in its manifest is read by the child's own runtime. */
export interface ChildManifest {
  readonly envAllow: readonly string[];
  /** The largest work folder that may be copied, in bytes. */
  readonly workdirMaxBytes: number;
}

/** Declarations as written. Lists are in the manifest's order. `${VAR}` is not resolved. */
export interface RuntimeManifest extends ChildManifest {
  readonly name: string;
  readonly version: string;
  /** Full names. No two share a bare name, because a model uses only the bare name. */
  readonly spawnAllow: readonly ArtifactName[];
  /** Capsules that start with a copy of their parent's work folder; each is also in `spawnAllow`. */
  readonly workdirSnapshot: readonly ArtifactName[];
  /** `lifecycle.delegation_deadline_secs`, whole seconds. */
  readonly delegationDeadlineSecs: number | undefined;
  /** `lifecycle.after_task`: whether the session ends with its task, or listens until it is ended. */
  readonly afterTask: AfterTask | undefined;
}

export type AfterTask = "exit" | "sleep";

/** A runtime's store: where `mur` installs and publishes to. */
export interface ArtifactStore {
  /** The manifest of the capsule that runs here. */
  resolve(coordinates: Coordinates): Resolution<RuntimeManifest>;
  resolveChild(coordinates: Coordinates): Resolution<ChildManifest>;
}

/** A manifest with the hash of its artifact, both from the same bytes. The fault is a sentence with the coordinates. */
type Resolution<M> = Promise<Result<{ readonly sha256: Sha256; readonly manifest: M }, string>>;

const DEFAULT_WORKDIR_MAX_BYTES = 10 * 1024 ** 3;

/** The store under `home`, in `.murmur/artifacts`. */
export function artifactStore(home: string): ArtifactStore {
  const path = join(home, ".murmur", "artifacts");
  return { resolve: resolver(path, runtimeManifest), resolveChild: resolver(path, childManifest) };
}

function resolver<M extends object>(
  path: string,
  read: (top: Block) => M,
): (coordinates: Coordinates) => Resolution<M> {
  const registry = new Registry({
    path,
    readManifest: (source) => decodeManifest(source, read),
    lower: (manifest) => manifest,
  });
  return async (coordinates) => {
    const resolution = await registry.resolve(coordinates);
    if (!resolution.ok) return fault(resolution.message);
    return ok({ sha256: resolution.artifact.sha256, manifest: resolution.artifact.held });
  };
}

function childManifest(top: Block): ChildManifest {
  const capabilities = top.block("capabilities");
  return {
    envAllow: capabilities.block("env").texts("allow"),
    workdirMaxBytes:
      wholeNumber(capabilities.block("resources"), "workdir_max_bytes") ?? DEFAULT_WORKDIR_MAX_BYTES,
  };
}

function runtimeManifest(top: Block): RuntimeManifest {
  const capabilities = top.block("capabilities");
  const spawn = capabilities.block("spawn");
  const lifecycle = top.block("lifecycle");
  const spawnAllow = spawnNames(spawn);
  const byText = new Map<string, ArtifactName>(spawnAllow.map((name) => [name, name]));
  return {
    name: top.requiredText("name"),
    version: top.requiredText("version"),
    spawnAllow,
    ...childManifest(top),
    workdirSnapshot: spawn.texts("workdir_snapshot").map((text) => {
      const name = byText.get(text);
      if (name) return name;
      throw new Error(`${spawn.path("workdir_snapshot")}: '${text}' is not in ${spawn.path("allow")}`);
    }),
    delegationDeadlineSecs: wholeNumber(lifecycle, "delegation_deadline_secs"),
    afterTask: afterTask(lifecycle),
  };
}

/** `delegate-task` names a capsule by its bare name, so two capsules with the same one could not be told apart. */
function spawnNames(spawn: Block): ArtifactName[] {
  const where = spawn.path("allow");
  const byBareName = new Map<string, ArtifactName>();
  for (const text of spawn.texts("allow")) {
    const name = parseArtifactName(text);
    if (!name) throw new Error(`${where}: '${text}' is no full name, <scope>/<name>`);
    const bare = bareName(name);
    const other = byBareName.get(bare);
    if (other !== undefined && other !== name) {
      throw new Error(
        `${where}: '${other}' and '${name}' are both '${bare}' to a model; list only one of them`,
      );
    }
    byBareName.set(bare, name);
  }
  return [...byBareName.values()];
}

function afterTask(lifecycle: Block): AfterTask | undefined {
  const text = lifecycle.trimmedText("after_task");
  if (text === undefined || text === "exit" || text === "sleep") return text;
  throw new Error(`${lifecycle.path("after_task")}: must be exit or sleep`);
}

function wholeNumber(block: Block, key: string): number | undefined {
  const text = block.trimmedText(key);
  if (text === undefined) return undefined;
  const number = /^\d+$/.test(text) ? Number(text) : 0;
  if (number === 0 || !Number.isSafeInteger(number)) {
    throw new Error(`${block.path(key)}: must be a whole number above 0`);
  }
  return number;
}
