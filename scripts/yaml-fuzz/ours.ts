/** The daemon's reader, with answers in the format of the other readers. */

import { YamlFault } from "../../src/registry/yaml/fault.ts";
import { readYamlTree } from "../../src/registry/yaml/read-tree.ts";
import type { YamlTree } from "../../src/registry/yaml/tree.ts";
import type { Answer } from "./python.ts";

/**
 * Our tree of a document; `undefined` if it is refused.
 *
 * @throws Error naming the document, if the reader throws anything but a fault
 */
export function ourAnswer(document: string): Answer | undefined {
  try {
    return plainTree(readYamlTree(document));
  } catch (error) {
    if (error instanceof YamlFault) return undefined;
    throw new Error(`thrown while reading ${JSON.stringify(document)}`, { cause: error });
  }
}

function plainTree(tree: YamlTree): Answer {
  switch (tree.kind) {
    case "text":
      return (tree.plain ? "=" : '"') + tree.text;
    case "list":
      return tree.items.map(plainTree);
    case "map":
      return { map: [...tree.entries].map(([key, value]) => [key, plainTree(value)]) };
    default:
      return tree satisfies never;
  }
}
