/** The tree of a manifest: texts, lists and mappings. Texts have no type yet. */

/** A scalar's text as written, and whether it was plain. Only the code that reads its key gives it a type. */
export interface YamlText {
  readonly kind: "text";
  readonly text: string;
  readonly plain: boolean;
}
interface YamlList {
  readonly kind: "list";
  readonly items: readonly YamlTree[];
}
export interface YamlMap {
  readonly kind: "map";
  /** In the order of the text. */
  readonly entries: ReadonlyMap<string, YamlTree>;
}
export type YamlTree = YamlText | YamlList | YamlMap;

/** The value where nothing is written: after `key:`, after a dash, in an empty source. */
export const EMPTY: YamlText = { kind: "text", text: "", plain: true };

/** How deep lists and mappings may be nested. */
export const MAX_NESTING = 127;
