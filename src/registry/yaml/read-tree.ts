/**
 * A text to a tree, by a list of forms. The launcher reads the same bytes with another reader: what is read here is what
 * every reader of YAML 1.1 and 1.2 takes alike, and any other form is a fault, whether or not it is good YAML.
 *
 * The forms: mappings and lists by indentation or in brackets, texts on one line (plain or in quotes), `|` and `>` blocks,
 * comments, and one `---` at the top. docs/manifest.md shows each of them, and each that is refused.
 */

import { atOnce } from "../../slices.ts";
import { readDocument } from "./blocks.ts";
import { checkedCharacters } from "./characters.ts";
import { Cursor } from "./cursor.ts";
import type { YamlTree } from "./tree.ts";

/**
 * The single document of `source` as a tree; its top may be anything. An empty text is an empty plain text.
 *
 * @throws YamlFault naming the form that is refused and its line
 */
export function readYamlTree(source: string): YamlTree {
  return atOnce(readYamlTreeInSteps(source));
}

/** The same, with a place to pause after every few lines or entries. */
export function* readYamlTreeInSteps(source: string): Generator<void, YamlTree> {
  const text = checkedCharacters(source);
  yield;
  return yield* readDocument(new Cursor(text));
}
