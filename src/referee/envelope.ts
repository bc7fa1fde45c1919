/** What a capsule holds: its manifest lowered into the form that the axes compare. */

import type { Containment } from "../registry/containment.ts";
import type { Manifest } from "../registry/manifest.ts";
import { InstallPatterns } from "./install-pattern.ts";
import { NetworkRules } from "./network-rule.ts";

/** Entries as the manifest declares them, in its order and each once, beside the index that answers for a parent's. */
export interface Declared<Index> {
  readonly entries: readonly string[];
  readonly index: Index;
}

/** One capsule's capabilities, on every axis. Prepared once per artifact; never changed afterwards. */
export interface Envelope {
  readonly networkAllow: Declared<NetworkRules>;
  readonly unixSockets: boolean;
  readonly peerFetchAllow: Declared<NetworkRules>;
  readonly shellAllow: Declared<ReadonlySet<string>>;
  readonly spawnAllow: Declared<ReadonlySet<string>>;
  readonly envAllow: Declared<ReadonlySet<string>>;
  /** `undefined`: the whole workdir. */
  readonly filesystemScope: string | undefined;
  readonly workdirExec: boolean;
  /** In alphabetical order: stores come from many artifacts, and have no order of their own. */
  readonly stateStores: Declared<ReadonlySet<string>>;
  readonly installSkill: Declared<InstallPatterns>;
  readonly installTool: Declared<InstallPatterns>;
  readonly containment: Containment;
}

/** Lowers a manifest. Each entry is a place where the work may pause: a manifest may hold some eighty thousand of them. */
export function* lowerManifest(manifest: Manifest): Generator<void, Envelope> {
  return {
    networkAllow: yield* indexed(manifest.networkAllow, new NetworkRules()),
    unixSockets: manifest.unixSockets,
    peerFetchAllow: yield* indexed(manifest.peerFetchAllow, new NetworkRules()),
    shellAllow: yield* distinct(manifest.shellAllow),
    spawnAllow: yield* distinct(manifest.spawnAllow),
    envAllow: yield* distinct(manifest.envAllow),
    filesystemScope: manifest.filesystemScope,
    workdirExec: manifest.workdirExec,
    // An artifact that opens a store takes some forty bytes: there are few enough to be sorted at once.
    stateStores: yield* distinct([...manifest.stateStores].sort()),
    installSkill: yield* indexed(manifest.installSkill, new InstallPatterns()),
    installTool: yield* indexed(manifest.installTool, new InstallPatterns()),
    containment: manifest.containment,
  };
}

/** Equal entries once, in the order in which they first stand. */
function* distinct(entries: readonly string[]): Generator<void, Declared<ReadonlySet<string>>> {
  const index = new Set<string>();
  for (const entry of entries) {
    yield;
    index.add(entry);
  }
  return { entries: [...index], index };
}

function* indexed<Index extends { add(entry: string): void }>(
  entries: readonly string[],
  index: Index,
): Generator<void, Declared<Index>> {
  const once = (yield* distinct(entries)).entries;
  for (const entry of once) {
    yield;
    index.add(entry);
  }
  return { entries: once, index };
}
