/**
 * murmur.yaml as a tree of texts, lists and mappings, read so strictly that no other YAML reader can see another
 * manifest in the same bytes: what two readers could take differently is an error here, never a guess.
 */

import {
  CST,
  isAlias,
  isMap,
  isNode,
  isScalar,
  isSeq,
  Lexer,
  type Node,
  parseDocument,
  type Scalar,
} from "yaml";

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
  readonly entries: ReadonlyMap<string, YamlTree>;
}
export type YamlTree = YamlText | YamlList | YamlMap;

/** Levels of lists and mappings inside one another, aliases followed. */
const MAX_NESTING = 127;
const TOO_DEEP = `nested deeper than ${MAX_NESTING} levels`;
/** Nodes that aliases may add to what is written out. */
const MAX_ALIAS_NODES = 100_000;

/** Why a text is no manifest tree. Its message never quotes the text. */
export class YamlFault extends Error {}

/**
 * The single document of `source` as a tree; its top may be anything.
 *
 * @throws YamlFault naming the rule that was broken, with its line where there is one
 */
export function readYamlTree(source: string): YamlTree {
  refuseAmbiguousCharacters(source);
  refuseByTokens(source);
  const document = parseDocument(source, {
    schema: "failsafe",
    // The library compares each key with each other; the set in `TreeBuilder` does it in one pass.
    uniqueKeys: false,
    prettyErrors: false,
    // At "silent" the library says nothing of a second document.
    logLevel: "error",
  });
  const fault = document.errors[0] ?? document.warnings[0];
  if (fault) {
    throw new YamlFault(`${FAULTS[fault.code] ?? "not valid YAML"} (line ${lineAt(source, fault.pos[0])})`);
  }
  return new TreeBuilder(source).root(document.contents);
}

const FAULTS: Partial<Record<string, string>> = {
  MULTIPLE_DOCS: "more than one document",
  TAB_AS_INDENT: "a tab used as indentation",
  BAD_ALIAS: "a malformed alias",
  RESOURCE_EXHAUSTION: "nested too deeply",
};

/**
 * Characters that one reader takes for a line break and another for text (a comment that ends early grants a
 * capability), and those that YAML does not allow at all.
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this looks for
const AMBIGUOUS = /\r(?!\n)|[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u2028\u2029\ufeff]/;

function refuseAmbiguousCharacters(source: string): void {
  const found = AMBIGUOUS.exec(source);
  if (!found) return;
  const code = source.charCodeAt(found.index).toString(16).toUpperCase().padStart(4, "0");
  throw new YamlFault(`the character U+${code} is not allowed (line ${lineAt(source, found.index)})`);
}

/** What opens a level: brackets until they close, dashes and question marks until their line ends. */
const BRACKETS: Partial<Record<string, number>> = {
  "flow-map-start": 1,
  "flow-seq-start": 1,
  "flow-map-end": -1,
  "flow-seq-end": -1,
};

/**
 * What can be told before the text is parsed. Levels are counted here already, because a parser pays dearly for
 * thousands of them before anybody can refuse the result.
 */
function refuseByTokens(source: string): void {
  let at = 0;
  let scalarFollows = false;
  let brackets = 0;
  let indicators = 0;
  for (const lexeme of new Lexer().lex(source)) {
    if (lexeme === CST.SCALAR) {
      scalarFollows = true;
      continue;
    }
    if (lexeme === CST.DOCUMENT || lexeme === CST.FLOW_END) continue;
    const type = scalarFollows ? "scalar" : CST.tokenType(lexeme);
    const fault = (what: string) => new YamlFault(`${what} (line ${lineAt(source, at)})`);
    if (type === "tag") throw fault("a tag (!…) is not allowed");
    if (type === "directive-line") throw fault("a directive (%…) is not allowed");
    brackets += BRACKETS[type ?? ""] ?? 0;
    if (type === "newline") indicators = 0;
    if (type === "seq-item-ind" || type === "explicit-key-ind") indicators++;
    if (brackets > MAX_NESTING || indicators > MAX_NESTING) throw fault(TOO_DEEP);
    scalarFollows = false;
    at += lexeme.length;
  }
}

function lineAt(source: string, offset: number): number {
  let line = 1;
  for (let at = source.indexOf("\n"); at !== -1 && at < offset; at = source.indexOf("\n", at + 1)) line++;
  return line;
}

/** A finished node with what it costs where an alias repeats it. */
interface Built {
  readonly tree: YamlTree;
  /** Nodes in it, aliases followed. */
  readonly nodes: number;
  /** Levels of lists and mappings in it, aliases followed. */
  readonly levels: number;
}

/**
 * Builds the tree in document order, each written node once: an alias shares what its anchor built, and only counts
 * it again. So the work is bounded by the text, and what the aliases stand for by `MAX_ALIAS_NODES`.
 */
class TreeBuilder {
  /** By anchor name: what it built, or `undefined` while it is still being built. A later anchor replaces an earlier one. */
  readonly #anchors = new Map<string, Built | undefined>();
  #aliasNodes = 0;

  constructor(readonly source: string) {}

  root(node: Node | null): YamlTree {
    return this.#build(node, 0).tree;
  }

  #build(node: unknown, depth: number): Built {
    if (node === null || node === undefined) return EMPTY;
    if (isAlias(node)) return this.#follow(node.source, depth, node.range?.[0]);
    const anchor = isScalar(node) || isMap(node) || isSeq(node) ? node.anchor : undefined;
    if (anchor !== undefined) this.#anchors.set(anchor, undefined);
    const built = this.#buildWritten(node, depth);
    if (anchor !== undefined) this.#anchors.set(anchor, built);
    return built;
  }

  #buildWritten(node: unknown, depth: number): Built {
    if (isScalar(node)) {
      this.#checkBlockScalar(node);
      const text = typeof node.value === "string" ? node.value : "";
      return { tree: { kind: "text", text, plain: node.type === "PLAIN" }, nodes: 1, levels: 0 };
    }
    if (!isSeq(node) && !isMap(node)) throw new YamlFault("not valid YAML");
    const at = node.range?.[0];
    let nodes = 1;
    let levels = 0;
    const child = (part: unknown): YamlTree => {
      const built = this.#build(part, depth + 1);
      nodes += built.nodes;
      levels = Math.max(levels, built.levels);
      return built.tree;
    };
    this.#checkNesting(depth + 1, at);
    if (isSeq(node)) {
      const items = node.items.map(child);
      return { tree: { kind: "list", items }, nodes, levels: levels + 1 };
    }
    const entries = new Map<string, YamlTree>();
    for (const pair of node.items) {
      const key = child(pair.key);
      const keyAt = isNode(pair.key) ? pair.key.range?.[0] : at;
      if (key.kind !== "text") throw this.#fault("a list or a mapping used as a key", keyAt);
      if (entries.has(key.text)) throw this.#fault("a key for the second time in one mapping", keyAt);
      entries.set(key.text, child(pair.value));
    }
    return { tree: { kind: "map", entries }, nodes, levels: levels + 1 };
  }

  #follow(name: string, depth: number, at: number | undefined): Built {
    const target = this.#anchors.get(name);
    if (target === undefined) {
      const why = this.#anchors.has(name) ? "an alias inside its own anchor" : "an alias without an anchor";
      throw this.#fault(why, at);
    }
    this.#checkNesting(depth + target.levels, at);
    this.#aliasNodes += target.nodes;
    if (this.#aliasNodes > MAX_ALIAS_NODES) {
      throw this.#fault(`aliases that stand for more than ${MAX_ALIAS_NODES} nodes`, at);
    }
    return target;
  }

  /**
   * Readers differ in what a block of text holds at its end, where the file ends in the middle of it, and where its
   * indentation is given as a number.
   */
  #checkBlockScalar({ type, range }: Scalar): void {
    if ((type !== "BLOCK_LITERAL" && type !== "BLOCK_FOLDED") || !range) return;
    const [start, end] = range;
    if (/^[|>][+-]?[0-9]/.test(this.source.slice(start, start + 3))) {
      throw this.#fault("a block of text with an indentation indicator", start);
    }
    if (/^[ \t]*$/.test(this.source.slice(end)) && !this.source.endsWith("\n")) {
      throw this.#fault("a block of text without a line break at the end of the file", start);
    }
  }

  #checkNesting(levels: number, at: number | undefined): void {
    if (levels > MAX_NESTING) throw this.#fault(TOO_DEEP, at);
  }

  #fault(what: string, at: number | undefined): YamlFault {
    return new YamlFault(at === undefined ? what : `${what} (line ${lineAt(this.source, at)})`);
  }
}

const EMPTY: Built = { tree: { kind: "text", text: "", plain: true }, nodes: 1, levels: 0 };
