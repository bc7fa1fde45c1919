/** What a manifest is read to: texts, lists and mappings, and nothing that has a type yet. */

/** A scalar keeps its text as written and whether it was written plain: only the key that wants it gives it a type. */
export interface YamlText {
  readonly kind: "text";
  readonly text: string;
  readonly plain: boolean;
}
export interface YamlList {
  readonly kind: "list";
  readonly items: readonly YamlTree[];
}
export interface YamlMap {
  readonly kind: "map";
  /** In the order of the text. */
  readonly entries: ReadonlyMap<string, YamlTree>;
}
export type YamlTree = YamlText | YamlList | YamlMap;

/** What stands where nothing is written: behind `key:`, behind a dash, in a text without content. */
export const EMPTY: YamlText = { kind: "text", text: "", plain: true };

/** How many lists and mappings may stand inside one another. */
export const MAX_NESTING = 127;
