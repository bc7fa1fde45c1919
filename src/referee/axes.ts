/**
 * The spawn envelope: twelve axes as one table, in the order they are checked.
 *
 * Spawn envelope: "refuses the request when the child would hold more capability than its parent on any axis". The
 * caller is told the first exceeded axis; the log may name them all.
 */

import { CONTAINMENT_CLASSES } from "../registry/containment.ts";
import { inSlices } from "../slices.ts";
import type { Declared, Envelope } from "./envelope.ts";
import { scopeCovers } from "./filesystem-scope.ts";
import type { InstallPatterns } from "./install-pattern.ts";
import type { NetworkRules } from "./network-rule.ts";

/** One axis on which a child exceeds its parent. */
export interface Excess {
  /** The manifest key, `capabilities.network.allow`. */
  readonly key: string;
  /** The first declaration, in the child's order, that its parent does not cover. */
  readonly entry: string;
  /** The whole refusal message. */
  readonly error: string;
}

/** One of the twelve axes. A child exceeds its parent if the parent does not cover one of its declarations. */
export interface Axis {
  readonly key: string;
  /** How it is written in a manifest. Code that words an axis does not compile until it handles a new kind. */
  readonly kind: "list" | "flag" | "scope" | "floor";
  /** What one side declares, in its order. An empty text means no filesystem scope: the whole workdir. */
  readonly declares: (held: Envelope) => readonly string[];
  readonly covers: (parent: Envelope, entry: string) => boolean;
  /** The refusal without its key, if it differs from the wording that most axes share. */
  readonly says?: (entry: string, parent: Envelope) => string;
}

const HELD = "a spawned capsule can never hold more capability than the capsule that spawned it";

export const AXES: readonly Axis[] = [
  rules("capabilities.network.allow", (held) => held.networkAllow),
  flag("capabilities.network.unix_sockets", (held) => held.unixSockets),
  rules("capabilities.peer_fetch.allow", (held) => held.peerFetchAllow),
  names("capabilities.shell.allow", (held) => held.shellAllow),
  names("capabilities.spawn.allow", (held) => held.spawnAllow),
  names("capabilities.env.allow", (held) => held.envAllow),
  {
    key: "capabilities.filesystem.scope",
    kind: "scope",
    declares: (held) => [held.filesystemScope ?? ""],
    covers: (parent, entry) => scopeCovers(parent.filesystemScope, entry === "" ? undefined : entry),
    says: saysScope,
  },
  flag("capabilities.filesystem.workdir_exec", (held) => held.workdirExec),
  names("capabilities.state.store", (held) => held.stateStores),
  rules("capabilities.install.skill", (held) => held.installSkill),
  rules("capabilities.install.tool", (held) => held.installTool),
  {
    key: "capabilities.containment",
    kind: "floor",
    declares: (held) => [held.containment],
    // A floor is a requirement rather than a grant, so it may only rise.
    covers: (parent, entry) => rank(entry) >= rank(parent.containment),
    says: (entry, parent) =>
      `the child declares containment '${entry}', below its parent's floor '${parent.containment}' — a spawned capsule's containment floor may only rise`,
  },
];

/**
 * Every axis on which the child exceeds its parent, in the order they are checked; empty if it exceeds none. The work may
 * pause at each entry, because a manifest may hold some eighty thousand of them.
 */
export function* excesses(parent: Envelope, child: Envelope): Generator<void, readonly Excess[]> {
  const found: Excess[] = [];
  for (const axis of AXES) {
    for (const entry of axis.declares(child)) {
      yield;
      if (axis.covers(parent, entry)) continue;
      found.push({ key: axis.key, entry, error: refusal(axis, entry, parent) });
      break;
    }
  }
  return found;
}

/** By parent, then by child; dropped when either envelope is. A promise is a comparison still in progress. */
const known = new WeakMap<Envelope, WeakMap<Envelope, readonly Excess[] | Promise<readonly Excess[]>>>();

/**
 * The same as `excesses`, in slices, and only once for each pair, because envelopes never change.
 *
 * @returns a promise only if the pair is new and takes longer than one slice to compare
 */
export function knownExcesses(
  parent: Envelope,
  child: Envelope,
): readonly Excess[] | Promise<readonly Excess[]> {
  let ofParent = known.get(parent);
  if (!ofParent) {
    ofParent = new WeakMap();
    known.set(parent, ofParent);
  }
  const before = ofParent.get(child);
  if (before) return before;
  const found = inSlices(excesses(parent, child));
  ofParent.set(child, found);
  if (found instanceof Promise) void found.then((settled) => ofParent.set(child, settled));
  return found;
}

/** The refusal message for one declaration that the parent does not cover. */
export function refusal({ key, says }: Axis, entry: string, parent: Envelope): string {
  const said =
    says?.(entry, parent) ?? `the child declares '${entry}', which its parent does not hold — ${HELD}`;
  return `${key}: ${said}`;
}

function names(key: string, of: (held: Envelope) => Declared<ReadonlySet<string>>): Axis {
  return list(key, of, (index, entry) => index.has(entry));
}

function rules(key: string, of: (held: Envelope) => Declared<NetworkRules | InstallPatterns>): Axis {
  return list(key, of, (index, entry) => index.covers(entry));
}

function list<Index>(
  key: string,
  of: (held: Envelope) => Declared<Index>,
  covers: (index: Index, entry: string) => boolean,
): Axis {
  return {
    key,
    kind: "list",
    declares: (held) => of(held).entries,
    covers: (parent, entry) => covers(of(parent).index, entry),
  };
}

function flag(key: string, of: (held: Envelope) => boolean): Axis {
  return {
    key,
    kind: "flag",
    declares: (held) => [String(of(held))],
    covers: (parent, entry) => entry === "false" || of(parent),
  };
}

function saysScope(entry: string, { filesystemScope }: Envelope): string {
  const declares =
    entry === ""
      ? "the child declares no scope and would reach the whole workdir"
      : `the child declares '${entry}'`;
  return `${declares}, which its parent's scope '${filesystemScope}' does not cover — ${HELD}`;
}

function rank(containment: string): number {
  return (CONTAINMENT_CLASSES as readonly string[]).indexOf(containment);
}
