/** Edits that would fix an edge that cannot be granted. Narrowing ones come first; widening ones are not advice. */

import type { Envelope } from "../referee/envelope.ts";
import type { Exceeded } from "./judge.ts";
import { type Change, childOf, type Edit, type UnresolvedEdge } from "./schema.ts";
import { entriesText, entryText, type Paint } from "./words.ts";

const SPAWN_ALLOW = "capabilities.spawn.allow";
const STATE_STORE = "capabilities.state.store";

interface Side {
  readonly capsule: string;
  readonly held: Envelope;
}

/** Two edits for each axis on which `child` exceeds `parent`, or one if only one can fix it. */
export function changesOfRefusal(parent: Side, child: Side, axes: readonly Exceeded[]): Change[] {
  return axes.map((exceeded) => ({
    parent: parent.capsule,
    child: child.capsule,
    key: exceeded.axis.key,
    edits: editsOf(parent, child, exceeded),
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

function editsOf(parent: Side, child: Side, { axis, entries, isSound }: Exceeded): Edit[] {
  // Stores are declared by a manifest's artifacts, not capsule-wide.
  const key = axis.key === STATE_STORE ? `artifacts[].${STATE_STORE}` : axis.key;
  const narrow = (action: Edit["action"], values: string[]) =>
    manifestEdit("narrows", child.capsule, key, action, values);
  const widen = (action: Edit["action"], values: string[]) =>
    manifestEdit("widens", parent.capsule, key, action, values);
  switch (axis.kind) {
    case "list":
      return [narrow("drop", entries), ...(isSound ? [widen("list", entries)] : [])];
    case "flag":
      return [narrow("set", ["false"]), widen("set", entries)];
    case "floor":
      return [narrow("set", [...axis.declares(parent.held)]), widen("set", entries)];
    case "scope": {
      const [scope = ""] = axis.declares(parent.held);
      const widened = isSound && entries[0] !== "" ? widen("cover", entries) : widen("unset", []);
      // A scope that does not cover itself is malformed and covers no child's.
      return axis.covers(parent.held, scope) ? [narrow("set", [scope]), widened] : [widened];
    }
    default:
      return axis.kind satisfies never;
  }
}

function manifestEdit(
  effect: Edit["effect"],
  capsule: string,
  key: string,
  action: Edit["action"],
  values: string[],
): Edit {
  return { effect, capsule, file: "murmur.yaml", key, action, values };
}

function registryEdit(effect: Edit["effect"], capsule: string, action: Edit["action"]): Edit {
  return { effect, capsule, file: null, key: null, action, values: [] };
}

export function* changeLines(changes: readonly Change[], paint: Paint): Generator<string, void> {
  yield paint("What to change (each edit is enough for its line; edits that narrow come first):", "strong");
  let previous: Change | undefined;
  for (const change of changes) {
    if (previous?.parent !== change.parent || previous.child !== change.child) {
      yield `  ${paint(`${entryText(change.child)}, started by ${change.parent}`)}`;
    }
    previous = change;
    yield `    ${paint(change.key)}`;
    for (const [index, edit] of change.edits.entries()) {
      yield `      ${paint(index === 0 ? "-" : "or", "faint")} ${paint(editText(edit, change.key))}`;
    }
  }
}

/** One edit, with the file and the key. */
function editText({ capsule, file, key, action, effect, values: given }: Edit, axis: string): string {
  const where = `${file} of ${capsule}: ${key}`;
  const values = entriesText(axis, given);
  switch (action) {
    case "drop":
      // Without a store's name, the block opens the store of its artifact's name.
      if (axis === STATE_STORE) return `${file} of ${capsule}: take out the state block that opens ${values}`;
      return `${where}: drop ${values}`;
    case "set":
      return effect === "widens" ? `${where} would have to be ${values}` : `${where}: set it to ${values}`;
    case "list":
      return `${where} would have to list ${values}`;
    case "cover":
      return `${where} would have to be ${values} or a directory above it`;
    case "unset":
      return `${where} would have to go, for the whole workdir`;
    case "publish":
      return `the registry: publish a sound ${capsule}`;
    case "publish-any":
      return `the registry: publish a version of ${capsule}`;
    case "withdraw":
      return `the registry: take ${capsule} out`;
    default:
      return action satisfies never;
  }
}
