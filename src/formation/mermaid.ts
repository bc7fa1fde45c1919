/** A formation as a Mermaid flowchart. */

import { printable } from "../printable.ts";
import { type Box, pictureOf } from "./picture.ts";
import type { Formation } from "./schema.ts";

/** The text of the picture, each line ended. */
export function renderMermaid(formation: Formation): string {
  const { boxes, arrows } = pictureOf(formation);
  const refused = arrows.flatMap(({ granted }, index) => (granted ? [] : [index]));
  const lines = [
    "flowchart TD",
    ...boxes.map((box) => `  ${boxText(box)}`),
    ...arrows.map(({ from, to, granted, label }) =>
      granted ? `  ${from} --> ${to}` : `  ${from} -. ${quoted(label)} .-> ${to}`,
    ),
    ...(refused.length > 0 ? [`  linkStyle ${refused.join(",")} stroke:#c0392b`] : []),
  ];
  return `${lines.join("\n")}\n`;
}

/** The root is round, a capsule is a box, and a missing one has slanted sides. */
function boxText({ id, label, look }: Box): string {
  switch (look) {
    case "root":
      return `${id}([${quoted(label)}])`;
    case "capsule":
      return `${id}[${quoted(label)}]`;
    case "absent":
      return `${id}[/${quoted(label)}/]`;
    default:
      return look satisfies never;
  }
}

/** Writes all but plain characters as numbers, so that no name can end the text or act as markup. */
function quoted(text: string): string {
  const safe = printable(text).replace(
    /[^A-Za-z0-9 .,:/@_()-]/gu,
    (character) => `#${character.codePointAt(0)};`,
  );
  return `"${safe}"`;
}
