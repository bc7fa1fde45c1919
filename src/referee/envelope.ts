/** What a capsule holds: its manifest lowered into the form that the axes compare. */

import type { Containment } from "../registry/containment.ts";
import type { Manifest } from "../registry/manifest.ts";
import { InstallPatterns } from "./install-pattern.ts";
import { NetworkRules } from "./network-rule.ts";

/** Entries as the manifest declares them, in its order, beside the index that answers for them as a parent's. */
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

export function lowerManifest(manifest: Manifest): Envelope {
  return {
    networkAllow: declared(manifest.networkAllow, NetworkRules),
    unixSockets: manifest.unixSockets,
    peerFetchAllow: declared(manifest.peerFetchAllow, NetworkRules),
    shellAllow: declared(manifest.shellAllow, Set<string>),
    spawnAllow: declared(manifest.spawnAllow, Set<string>),
    envAllow: declared(manifest.envAllow, Set<string>),
    filesystemScope: manifest.filesystemScope,
    workdirExec: manifest.workdirExec,
    stateStores: declared([...new Set(manifest.stateStores)].sort(), Set<string>),
    installSkill: declared(manifest.installSkill, InstallPatterns),
    installTool: declared(manifest.installTool, InstallPatterns),
    containment: manifest.containment,
  };
}

function declared<Index>(
  entries: readonly string[],
  Index: new (entries: readonly string[]) => Index,
): Declared<Index> {
  return { entries, index: new Index(entries) };
}
