/**
 * Reads a text into a tree. The launcher reads the same bytes with another YAML reader, so only forms that every reader of
 * YAML 1.1 and 1.2 reads the same way are accepted. Any other form is a fault, even if it is valid YAML.
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
 * The single document of `source` as a tree, whose top may be of any kind. An empty source is an empty plain text.
 *
 * @throws YamlFault naming the form that is refused and its line
 */
export function readYamlTree(source: string): YamlTree {
  return atOnce(readYamlTreeInSteps(source));
}

/** The same, with a pause after every few lines or entries. */
export function* readYamlTreeInSteps(source: string): Generator<void, YamlTree> {
  const text = checkedCharacters(source);
  yield;
  return yield* readDocument(new Cursor(text));
}
