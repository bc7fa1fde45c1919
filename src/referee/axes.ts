/**
 * The spawn envelope: twelve axes as one table, in the order they are asked.
 *
 * Spawn envelope: "refuses the request when the child would hold more capability than its parent on any axis". The
 * first axis exceeded is the refusal a caller hears; an operator's log may name them all.
 */

import { CONTAINMENT_CLASSES } from "../registry/containment.ts";
import type { Declared, Envelope } from "./envelope.ts";
import { scopeCovers } from "./filesystem-scope.ts";
import { type NetworkRules, parseNetworkRule } from "./network-rule.ts";

/** One axis on which a child exceeds its parent. */
export interface Excess {
  /** The manifest key, `capabilities.network.allow`. */
  readonly key: string;
  /** The declaration that exceeds: the first one in the child's order. */
  readonly entry: string;
  /** The whole refusal. */
  readonly error: string;
}

interface Axis {
  readonly key: string;
  /** The child's first declaration that its parent does not cover. */
  readonly exceeds: (parent: Envelope, child: Envelope) => string | undefined;
  /** How it is said, where not in the words most axes share. */
  readonly says?: (entry: string, parent: Envelope, child: Envelope) => string;
}

const HELD = "a spawned capsule can never hold more capability than the capsule that spawned it";

const AXES: readonly Axis[] = [
  { key: "capabilities.network.allow", exceeds: network((held) => held.networkAllow) },
  { key: "capabilities.network.unix_sockets", exceeds: flag((held) => held.unixSockets) },
  { key: "capabilities.peer_fetch.allow", exceeds: network((held) => held.peerFetchAllow) },
  { key: "capabilities.shell.allow", exceeds: names((held) => held.shellAllow) },
  { key: "capabilities.spawn.allow", exceeds: names((held) => held.spawnAllow) },
  { key: "capabilities.env.allow", exceeds: names((held) => held.envAllow) },
  { key: "capabilities.filesystem.scope", exceeds: scope, says: saysScope },
  { key: "capabilities.filesystem.workdir_exec", exceeds: flag((held) => held.workdirExec) },
  { key: "capabilities.state.store", exceeds: names((held) => held.stateStores) },
  { key: "capabilities.install.skill", exceeds: patterns((held) => held.installSkill) },
  { key: "capabilities.install.tool", exceeds: patterns((held) => held.installTool) },
  { key: "capabilities.containment", exceeds: containment, says: saysContainment },
];

/** Every axis on which the child exceeds its parent, in the order they are asked; empty where it is within. */
export function excesses(parent: Envelope, child: Envelope): readonly Excess[] {
  return AXES.flatMap(({ key, exceeds, says }) => {
    const entry = exceeds(parent, child);
    if (entry === undefined) return [];
    const said =
      says?.(entry, parent, child) ??
      `the child declares '${entry}', which its parent does not hold — ${HELD}`;
    return [{ key, entry, error: `${key}: ${said}` }];
  });
}

type Exceeds = Axis["exceeds"];

function network(of: (held: Envelope) => Declared<NetworkRules>): Exceeds {
  return (parent, child) =>
    of(child).entries.find((entry) => {
      const rule = parseNetworkRule(entry);
      return rule === undefined || !of(parent).index.covers(rule);
    });
}

function names(of: (held: Envelope) => Declared<ReadonlySet<string>>): Exceeds {
  return (parent, child) => of(child).entries.find((entry) => !of(parent).index.has(entry));
}

function patterns(of: (held: Envelope) => Declared<{ covers(pattern: string): boolean }>): Exceeds {
  return (parent, child) => of(child).entries.find((entry) => !of(parent).index.covers(entry));
}

function flag(of: (held: Envelope) => boolean): Exceeds {
  return (parent, child) => (of(child) && !of(parent) ? "true" : undefined);
}

function scope(parent: Envelope, child: Envelope): string | undefined {
  return scopeCovers(parent.filesystemScope, child.filesystemScope)
    ? undefined
    : (child.filesystemScope ?? "");
}

function saysScope(entry: string, parent: Envelope, child: Envelope): string {
  const declares =
    child.filesystemScope === undefined
      ? "the child declares no scope and would reach the whole workdir"
      : `the child declares '${entry}'`;
  return `${declares}, which its parent's scope '${parent.filesystemScope}' does not cover — ${HELD}`;
}

/** A floor is a requirement rather than a grant, so it may only rise. */
function containment(parent: Envelope, child: Envelope): string | undefined {
  const rank = (held: Envelope) => CONTAINMENT_CLASSES.indexOf(held.containment);
  return rank(child) < rank(parent) ? child.containment : undefined;
}

function saysContainment(entry: string, parent: Envelope): string {
  return `the child declares containment '${entry}', below its parent's floor '${parent.containment}' — a spawned capsule's containment floor may only rise`;
}
