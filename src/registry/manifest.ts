/**
 * What the referee needs from `murmur.yaml`: the name and every declaration that an envelope axis compares.
 *
 * Nothing is expanded: `${VAR}` is plain text, and the environment is never read.
 */

import { atOnce, inSlices } from "../slices.ts";
import { Block, ENTRIES_A_STEP } from "./block.ts";
import { CONTAINMENT_CLASSES, type Containment } from "./containment.ts";
import { readYamlTreeInSteps } from "./yaml/read-tree.ts";

/** The declarations of one manifest, as written; lists are in the manifest's order. */
export interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly networkAllow: readonly string[];
  readonly unixSockets: boolean;
  readonly peerFetchAllow: readonly string[];
  readonly shellAllow: readonly string[];
  readonly spawnAllow: readonly string[];
  readonly envAllow: readonly string[];
  /** `undefined`: the whole workdir. */
  readonly filesystemScope: string | undefined;
  readonly workdirExec: boolean;
  /** Stores that its artifacts open. A bare `state:` already has the manifest's name here. */
  readonly stateStores: readonly string[];
  readonly installSkill: readonly string[];
  readonly installTool: readonly string[];
  readonly containment: Containment;
}

/** The longest manifest that is read, in bytes. */
export const MAX_MANIFEST_BYTES = 256 * 1024;

/** A manifest, or one sentence that names the key or the line at fault and quotes nothing. */
export type ManifestReading<Read = Manifest> =
  | { readonly ok: true; readonly manifest: Read }
  | { readonly ok: false; readonly fault: string };

/** Reads the text of a `murmur.yaml` in one go, however long it takes. */
export function readManifest(source: string): ManifestReading {
  return atOnce(decodeInSteps(source, manifestInSteps));
}

/** Reads the text of a `murmur.yaml` in short turns, so that others are served while a long one is read. */
export function readManifestInSlices(source: string): ManifestReading | Promise<ManifestReading> {
  return inSlices(decodeInSteps(source, manifestInSteps));
}

/**
 * Reads `source` as a mapping, in short turns, and passes it to `decode`. Faults are returned as a sentence. For decoders
 * of other keys of the same file.
 */
export function decodeManifest<T extends object>(
  source: string,
  decode: (top: Block) => T,
): ManifestReading<T> | Promise<ManifestReading<T>> {
  return inSlices(
    decodeInSteps(source, function* (top) {
      yield;
      return decode(top);
    }),
  );
}

function* decodeInSteps<T extends object>(
  source: string,
  decode: (top: Block) => Generator<void, T>,
): Generator<void, ManifestReading<T>> {
  try {
    const tree = yield* readYamlTreeInSteps(source);
    if (tree.kind !== "map") return NO_MAPPING;
    return { ok: true, manifest: yield* decode(new Block("", tree)) };
  } catch (error) {
    return faultOf(error);
  }
}

const NO_MAPPING = { ok: false, fault: "the manifest must be a mapping" } as const;

/** @throws the engine's error if memory or stack runs out: then the host fails, and not the text */
function faultOf(error: unknown): { readonly ok: false; readonly fault: string } {
  if (error instanceof RangeError) throw error;
  return { ok: false, fault: error instanceof Error ? error.message : "it could not be read" };
}

function* manifestInSteps(top: Block): Generator<void, Manifest> {
  const name = top.requiredText("name");
  const version = top.requiredText("version");
  const capabilities = top.block("capabilities");
  const network = capabilities.block("network");
  const filesystem = capabilities.block("filesystem");
  const install = capabilities.block("install");
  return {
    name,
    version,
    networkAllow: yield* network.textsInSteps("allow"),
    unixSockets: network.boolean("unix_sockets"),
    peerFetchAllow: yield* capabilities.block("peer_fetch").textsInSteps("allow"),
    shellAllow: yield* capabilities.block("shell").textsInSteps("allow"),
    spawnAllow: yield* capabilities.block("spawn").textsInSteps("allow"),
    envAllow: yield* capabilities.block("env").textsInSteps("allow"),
    filesystemScope: filesystem.trimmedText("scope"),
    workdirExec: filesystem.boolean("workdir_exec"),
    stateStores: yield* stateStores(top, name),
    installSkill: yield* install.textsInSteps("skill"),
    installTool: yield* install.textsInSteps("tool"),
    containment: containmentOf(capabilities),
  };
}

/** Spawn envelope, "State stores": only an artifact's own `state` block opens one. */
function* stateStores(top: Block, manifestName: string): Generator<void, string[]> {
  const stores: string[] = [];
  let count = 0;
  for (const artifact of top.blocks("artifacts")) {
    if (++count % ENTRIES_A_STEP === 0) yield;
    const capabilities = artifact.block("capabilities");
    if (capabilities.declares("state")) {
      stores.push(capabilities.block("state").trimmedText("store") ?? manifestName);
    }
  }
  return stores;
}

function containmentOf(capabilities: Block): Containment {
  const text = capabilities.trimmedText("containment");
  const known = CONTAINMENT_CLASSES.find((name) => name === text);
  if (text !== undefined && known === undefined) {
    throw new Error(`${capabilities.path("containment")}: must be one of ${CONTAINMENT_CLASSES.join(", ")}`);
  }
  return known ?? "advisory";
}
