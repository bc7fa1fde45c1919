/** A formation as a graph for Graphviz. */

import { printable } from "../printable.ts";
import { type Box, pictureOf } from "./picture.ts";
import type { Formation } from "./schema.ts";

/** The text of the picture, each line ended. */
export function renderDot(formation: Formation): string {
  const { boxes, arrows } = pictureOf(formation);
  const lines = [
    "digraph formation {",
    '  node [shape=box, fontname="sans-serif"];',
    '  edge [fontname="sans-serif", fontsize=10];',
    ...boxes.map((box) => `  ${box.id} [label=${quoted(box.label)}${boxStyle(box)}];`),
    ...arrows.map(({ from, to, granted, label }) =>
      granted
        ? `  ${from} -> ${to};`
        : `  ${from} -> ${to} [style=dashed, color="#c0392b", label=${quoted(label)}];`,
    ),
    "}",
  ];
  return `${lines.join("\n")}\n`;
}

function boxStyle({ look }: Box): string {
  switch (look) {
    case "root":
      return ", style=rounded, penwidth=2";
    case "capsule":
      return "";
    case "absent":
      return ", style=dashed";
    default:
      return look satisfies never;
  }
}

/** A backslash would begin an escape, a quote would end the text, and an ampersand would begin an entity. */
function quoted(text: string): string {
  const safe = printable(text)
    .replaceAll("&", "&amp;")
    .replace(/["\\]/g, (character) => `\\${character}`);
  return `"${safe}"`;
}
