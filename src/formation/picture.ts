/** A formation as boxes and arrows, each with a label and a style. Mermaid and Graphviz both draw this. */

import { childOf, type Edge, type Formation } from "./schema.ts";

export interface Box {
  readonly id: string;
  readonly label: string;
  readonly look: "root" | "capsule" | "absent";
}

export interface Arrow {
  readonly from: string;
  readonly to: string;
  readonly granted: boolean;
  /** Why it is not granted; empty if it is. */
  readonly label: string;
}

export interface Picture {
  readonly boxes: readonly Box[];
  readonly arrows: readonly Arrow[];
}

/** A capsule has one box, however many capsules list it. A listed name without any version has its own box. */
export function pictureOf(formation: Formation): Picture {
  const boxes = new Map<string, Box>();
  const boxOf = (key: string, label: string, look: Box["look"]) => {
    const box = boxes.get(key) ?? { id: `c${boxes.size}`, label, look };
    boxes.set(key, box);
    return box;
  };
  for (const { capsule, depth, cut } of formation.capsules) {
    const label = cut ? `${capsule} (--max-depth ${formation.limits.max_depth} ends here)` : capsule;
    boxOf(capsule, label, depth === 0 ? "root" : "capsule");
  }
  const arrows = formation.edges.map((edge): Arrow => {
    const isThere = edge.version !== null;
    const key = isThere ? childOf(edge) : `absent ${edge.name}`;
    const to = boxOf(key, childOf(edge), isThere ? "capsule" : "absent");
    const from = boxes.get(edge.parent)?.id ?? "";
    return { from, to: to.id, granted: edge.verdict === "granted", label: labelOf(edge) };
  });
  return { boxes: [...boxes.values()], arrows };
}

function labelOf(edge: Edge): string {
  switch (edge.verdict) {
    case "granted":
      return "";
    case "refused":
      return `refused: ${edge.axes.map(({ key }) => shortKey(key)).join(", ")}`;
    case "unresolved":
      return "cannot be resolved";
    case "not-in-registry":
      return "not in the registry";
    case "not-a-full-name":
      return "not a full name";
    default:
      return edge satisfies never;
  }
}

/** Leaves out `capabilities.`, which all keys begin with. */
function shortKey(key: string): string {
  return key.replace(/^capabilities\./, "");
}
