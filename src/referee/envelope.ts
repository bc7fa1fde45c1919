/** What a capsule holds: its manifest in the form that the axes compare. */

import type { Containment } from "../registry/containment.ts";
import type { Manifest } from "../registry/manifest.ts";
import { InstallPatterns } from "./install-pattern.ts";
import { NetworkRules } from "./network-rule.ts";

/** A manifest's entries, in its order and each once, and an index of what a parent with these entries covers. */
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
  /** Sorted, because stores come from many artifacts and are not one list in the manifest. */
  readonly stateStores: Declared<ReadonlySet<string>>;
  readonly installSkill: Declared<InstallPatterns>;
  readonly installTool: Declared<InstallPatterns>;
  readonly containment: Containment;
}

/** Converts a manifest. The work may pause at each entry, because a manifest may hold some eighty thousand of them. */
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
    // Each store takes some forty bytes of the manifest, so there are few enough to sort in one go.
    stateStores: yield* distinct([...manifest.stateStores].sort()),
    installSkill: yield* indexed(manifest.installSkill, new InstallPatterns()),
    installTool: yield* indexed(manifest.installTool, new InstallPatterns()),
    containment: manifest.containment,
  };
}

/** Each distinct entry once, in order of first appearance. */
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
