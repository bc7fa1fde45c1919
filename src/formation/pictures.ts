/** A formation as a picture, for Graphviz and for Mermaid: both draw the same boxes and arrows. */

import { printable } from "../printable.ts";
import { childOf, type Edge, type Formation } from "./schema.ts";

/** A formation as a graph for Graphviz: the text of the picture, each line ended. */
export function renderDot(formation: Formation): string {
  const { boxes, arrows } = pictureOf(formation);
  const styles = { root: ", style=rounded, penwidth=2", capsule: "", absent: ", style=dashed" };
  const lines = [
    "digraph formation {",
    '  node [shape=box, fontname="sans-serif"];',
    '  edge [fontname="sans-serif", fontsize=10];',
    ...boxes.map(({ id, label, look }) => `  ${id} [label=${dotText(label)}${styles[look]}];`),
    ...arrows.map(({ from, to, refusal }) =>
      refusal === undefined
        ? `  ${from} -> ${to};`
        : `  ${from} -> ${to} [style=dashed, color="#c0392b", label=${dotText(refusal)}];`,
    ),
    "}",
  ];
  return `${lines.join("\n")}\n`;
}

/** A backslash would begin an escape, a quote would end the text, and an ampersand would begin an entity. */
function dotText(text: string): string {
  const safe = printable(text)
    .replaceAll("&", "&amp;")
    .replace(/["\\]/g, (character) => `\\${character}`);
  return `"${safe}"`;
}

/** A formation as a Mermaid flowchart: the text of the picture, each line ended. */
export function renderMermaid(formation: Formation): string {
  const { boxes, arrows } = pictureOf(formation);
  const refused = arrows.flatMap(({ refusal }, index) => (refusal === undefined ? [] : [index]));
  // The root is round, a capsule is a box, and a missing one has slanted sides.
  const shapes = { root: ["([", "])"], capsule: ["[", "]"], absent: ["[/", "/]"] } as const;
  const lines = [
    "flowchart TD",
    ...boxes.map(({ id, label, look }) => `  ${id}${shapes[look].join(mermaidText(label))}`),
    ...arrows.map(({ from, to, refusal }) =>
      refusal === undefined ? `  ${from} --> ${to}` : `  ${from} -. ${mermaidText(refusal)} .-> ${to}`,
    ),
    ...(refused.length > 0 ? [`  linkStyle ${refused.join(",")} stroke:#c0392b`] : []),
  ];
  return `${lines.join("\n")}\n`;
}

/** Writes all but plain characters as numbers, so that no name can end the text or act as markup. */
function mermaidText(text: string): string {
  const safe = printable(text).replace(
    /[^A-Za-z0-9 .,:/@_()-]/gu,
    (character) => `#${character.codePointAt(0)};`,
  );
  return `"${safe}"`;
}

interface Box {
  readonly id: string;
  readonly label: string;
  readonly look: "root" | "capsule" | "absent";
}

/** A capsule has one box, however many capsules list it. A listed name without any version has its own box. */
function pictureOf({ capsules, edges, limits }: Formation) {
  const boxes = new Map<string, Box>();
  const boxOf = (key: string, label: string, look: Box["look"]) => {
    const box = boxes.get(key) ?? { id: `c${boxes.size}`, label, look };
    boxes.set(key, box);
    return box;
  };
  for (const { capsule, depth, cut } of capsules) {
    const label = cut ? `${capsule} (--max-depth ${limits.max_depth} ends here)` : capsule;
    boxOf(capsule, label, depth === 0 ? "root" : "capsule");
  }
  const arrows = edges.map((edge) => {
    const child = childOf(edge);
    const to =
      edge.version === null ? boxOf(`absent ${child}`, child, "absent") : boxOf(child, child, "capsule");
    return { from: boxes.get(edge.parent)?.id ?? "", to: to.id, refusal: refusalOf(edge) };
  });
  return { boxes: [...boxes.values()], arrows };
}

/** Why an edge is not granted; nothing if it is. */
function refusalOf(edge: Edge): string | undefined {
  switch (edge.verdict) {
    case "granted":
      return undefined;
    case "refused":
      // All keys begin with `capabilities.`.
      return `refused: ${edge.axes.map(({ key }) => key.replace(/^capabilities\./, "")).join(", ")}`;
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
