/** Edits that would fix an edge that cannot be granted. Narrowing ones come first; widening ones are not advice. */

import type { Envelope } from "../referee/envelope.ts";
import type { Exceeded } from "./judge.ts";
import { type Change, childOf, type Edit, type UnresolvedEdge } from "./schema.ts";

const MANIFEST = "murmur.yaml";
const SPAWN_ALLOW = "capabilities.spawn.allow";
const STATE_STORE = "capabilities.state.store";

/** Two edits for each axis on which `child` exceeds `parent`, or one if only one can fix it. */
export function changesOfRefusal(
  parent: { readonly capsule: string; readonly held: Envelope },
  child: { readonly capsule: string; readonly held: Envelope },
  axes: readonly Exceeded[],
): Change[] {
  return axes.map((exceeded) => ({
    parent: parent.capsule,
    child: child.capsule,
    key: exceeded.axis.key,
    edits: [
      ...narrowing(child.capsule, parent.held, exceeded),
      ...widening(parent.capsule, child.held, exceeded),
    ],
  }));
}

/** The same for a child that is absent or that the registry cannot resolve. */
export function changesOfAbsence(edge: UnresolvedEdge): Change[] {
  const child = childOf(edge);
  const change = (...edits: Edit[]) => [{ parent: edge.parent, child, key: SPAWN_ALLOW, edits }];
  const drop = manifestEdit("narrows", edge.parent, SPAWN_ALLOW, "drop", [edge.name]);
  switch (edge.verdict) {
    case "not-a-full-name":
      return change(drop);
    case "not-in-registry":
      return change(drop, registryEdit("publishes", child, "publish-any"));
    case "unresolved":
      // Dropping the name would drop the other versions too.
      return change(
        edge.version === null ? drop : registryEdit("narrows", child, "withdraw"),
        registryEdit("publishes", child, "publish"),
      );
    default:
      return edge satisfies never;
  }
}

function narrowing(child: string, parent: Envelope, { axis, entries }: Exceeded): Edit[] {
  const edit = (action: Edit["action"], values: readonly string[]) => [
    manifestEdit("narrows", child, fileKey(axis.key), action, values),
  ];
  switch (axis.kind) {
    case "list":
      return edit("drop", entries);
    case "flag":
      return edit("set", ["false"]);
    case "floor":
      return edit("set", axis.declares(parent));
    case "scope": {
      const [scope = ""] = axis.declares(parent);
      // A scope that does not cover itself is malformed and covers no child's.
      return axis.covers(parent, scope) ? edit("set", [scope]) : [];
    }
    default:
      return axis.kind satisfies never;
  }
}

function widening(parent: string, child: Envelope, { axis, entries }: Exceeded): Edit[] {
  const edit = (action: Edit["action"], values: readonly string[]) => [
    manifestEdit("widens", parent, fileKey(axis.key), action, values),
  ];
  // An entry that the child's own declarations do not cover is malformed, so no parent can cover it.
  const isSound = entries.every((entry) => axis.covers(child, entry));
  switch (axis.kind) {
    case "list":
      return isSound ? edit("list", entries) : [];
    case "flag":
    case "floor":
      return edit("set", entries);
    case "scope":
      return isSound && entries[0] !== "" ? edit("cover", entries) : edit("unset", []);
    default:
      return axis.kind satisfies never;
  }
}

/** Stores are declared by a manifest's artifacts, not capsule-wide. */
function fileKey(key: string): string {
  return key === STATE_STORE ? `artifacts[].${key}` : key;
}

function manifestEdit(
  effect: Edit["effect"],
  capsule: string,
  key: string,
  action: Edit["action"],
  values: readonly string[],
): Edit {
  return { effect, capsule, file: MANIFEST, key, action, values: [...values] };
}

function registryEdit(effect: Edit["effect"], capsule: string, action: Edit["action"]): Edit {
  return { effect, capsule, file: null, key: null, action, values: [] };
}
