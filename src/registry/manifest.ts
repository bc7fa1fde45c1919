/**
 * What the referee needs from `murmur.yaml`: the name and every declaration that an envelope axis compares.
 *
 * Nothing is expanded: `${VAR}` is plain text, and the environment is never read.
 */

import { atOnce, inSlices } from "../slices.ts";
import { CONTAINMENT_CLASSES, type Containment } from "./containment.ts";
import { isOverlong, isTrimmedOtherwise, MAX_ENTRY_BYTES, ownText } from "./manifest-text.ts";
import { readYamlTreeInSteps } from "./yaml/read-tree.ts";
import type { YamlMap, YamlTree } from "./yaml/tree.ts";

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

/** Entries decoded between two pauses. */
const ENTRIES_A_STEP = 256;

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

const NULLS = new Set(["", "~", "null", "Null", "NULL"]);
const BOOLEANS = new Map([
  ...["true", "True", "TRUE"].map((text) => [text, true] as const),
  ...["false", "False", "FALSE"].map((text) => [text, false] as const),
]);

/**
 * One mapping of the manifest, and its path. Each method reads a key as one type; a value of another type is an error
 * that names the key.
 */
export class Block {
  constructor(
    readonly where: string,
    readonly tree: YamlMap,
  ) {}

  path(key: string): string {
    return this.where === "" ? key : `${this.where}.${key}`;
  }

  /** Whether the key has a value: `state: {}` is, `state:` and `state: null` are not. */
  declares(key: string): boolean {
    return !isAbsent(this.tree.entries.get(key));
  }

  /** The mapping under `key`; an empty one if the key is absent. */
  block(key: string): Block {
    const value = this.tree.entries.get(key);
    if (value === undefined || isAbsent(value)) return new Block(this.path(key), NO_ENTRIES);
    if (value.kind !== "map") throw new Error(`${this.path(key)}: must be a mapping`);
    return new Block(this.path(key), value);
  }

  /** The list of mappings under `key`, one after the other. */
  *blocks(key: string): Generator<Block, void> {
    for (const [index, item] of this.#list(key).entries()) {
      const where = `${this.path(key)}[${index}]`;
      if (item.kind !== "map") throw new Error(`${where}: must be a mapping`);
      yield new Block(where, item);
    }
  }

  /** The list of texts under `key`, as written, each at most `MAX_ENTRY_BYTES` long. */
  texts(key: string): string[] {
    return atOnce(this.textsInSteps(key));
  }

  /** The same, with a pause after every few entries. */
  *textsInSteps(key: string): Generator<void, string[]> {
    const texts: string[] = [];
    for (const item of this.#list(key)) {
      if (texts.length % ENTRIES_A_STEP === ENTRIES_A_STEP - 1) yield;
      if (item.kind !== "text") throw new Error(`${this.path(key)}: every entry must be a text`);
      if (isOverlong(item.text)) {
        throw new Error(`${this.path(key)}: no entry may be longer than ${MAX_ENTRY_BYTES} bytes`);
      }
      texts.push(ownText(item.text));
    }
    return texts;
  }

  /** A text that must be present and not blank. */
  requiredText(key: string): string {
    const value = this.tree.entries.get(key);
    if (value === undefined) throw new Error(`${this.path(key)}: is required`);
    if (value.kind !== "text") throw new Error(`${this.path(key)}: must be a text`);
    if (value.text.trim() === "") throw new Error(`${this.path(key)}: must not be blank`);
    return ownText(value.text);
  }

  /** An optional text, trimmed; a blank one counts as absent. */
  trimmedText(key: string): string | undefined {
    const value = this.tree.entries.get(key);
    if (value === undefined || isAbsent(value)) return undefined;
    if (value.kind !== "text") throw new Error(`${this.path(key)}: must be a text`);
    const text = value.text.trim();
    if (isTrimmedOtherwise(value.text, text)) {
      throw new Error(`${this.path(key)}: must not begin or end with U+FEFF or U+0085`);
    }
    return ownText(text) || undefined;
  }

  /** `true` or `false`, unquoted; `false` if the key is absent. */
  boolean(key: string): boolean {
    const value = this.tree.entries.get(key);
    if (value === undefined) return false;
    const meant = value.kind === "text" && value.plain ? BOOLEANS.get(value.text) : undefined;
    if (meant === undefined) throw new Error(`${this.path(key)}: must be true or false`);
    return meant;
  }

  /** A list is empty if nothing is written after its key. `null` is a value, and not a list. */
  #list(key: string): readonly YamlTree[] {
    const value = this.tree.entries.get(key);
    if (value === undefined || (value.kind === "text" && value.plain && value.text === "")) return [];
    if (value.kind !== "list") throw new Error(`${this.path(key)}: must be a list`);
    return value.items;
  }
}

const NO_ENTRIES: YamlMap = { kind: "map", entries: new Map() };

function isAbsent(value: YamlTree | undefined): boolean {
  return value === undefined || (value.kind === "text" && value.plain && NULLS.has(value.text));
}
