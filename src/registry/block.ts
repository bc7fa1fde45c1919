/** A mapping of a manifest, read key by key: each key as one type. */

import { atOnce } from "../slices.ts";
import type { YamlMap, YamlTree } from "./yaml/tree.ts";

/** Entries decoded between two pauses. */
export const ENTRIES_A_STEP = 256;

/** The longest entry of a list of texts, in bytes of UTF-8. It is limited because entries are compared with each other. */
const MAX_ENTRY_BYTES = 4096;

const NULLS = new Set(["", "~", "null", "Null", "NULL"]);
const BOOLEANS = new Map([
  ...["true", "True", "TRUE"].map((text) => [text, true] as const),
  ...["false", "False", "FALSE"].map((text) => [text, false] as const),
]);

/**
 * One mapping of the manifest, and its path. Each method reads a key as one type; a value of another type is an error
 * that names the key.
 */
export class Block {
  constructor(
    readonly where: string,
    readonly tree: YamlMap,
  ) {}

  path(key: string): string {
    return this.where === "" ? key : `${this.where}.${key}`;
  }

  /** Whether the key has a value: `state: {}` is, `state:` and `state: null` are not. */
  declares(key: string): boolean {
    return !isAbsent(this.tree.entries.get(key));
  }

  /** The mapping under `key`; an empty one if the key is absent. */
  block(key: string): Block {
    const value = this.tree.entries.get(key);
    if (value === undefined || isAbsent(value)) return new Block(this.path(key), NO_ENTRIES);
    if (value.kind !== "map") throw new Error(`${this.path(key)}: must be a mapping`);
    return new Block(this.path(key), value);
  }

  /** The list of mappings under `key`, one after the other. */
  *blocks(key: string): Generator<Block, void> {
    for (const [index, item] of this.#list(key).entries()) {
      const where = `${this.path(key)}[${index}]`;
      if (item.kind !== "map") throw new Error(`${where}: must be a mapping`);
      yield new Block(where, item);
    }
  }

  /** The list of texts under `key`, as written, each at most `MAX_ENTRY_BYTES` long. */
  texts(key: string): string[] {
    return atOnce(this.textsInSteps(key));
  }

  /** The same, with a pause after every few entries. */
  *textsInSteps(key: string): Generator<void, string[]> {
    const texts: string[] = [];
    for (const item of this.#list(key)) {
      if (texts.length % ENTRIES_A_STEP === ENTRIES_A_STEP - 1) yield;
      if (item.kind !== "text") throw new Error(`${this.path(key)}: every entry must be a text`);
      if (isOverlong(item.text)) {
        throw new Error(`${this.path(key)}: no entry may be longer than ${MAX_ENTRY_BYTES} bytes`);
      }
      texts.push(ownText(item.text));
    }
    return texts;
  }

  /** A text that must be present and not blank. */
  requiredText(key: string): string {
    const value = this.tree.entries.get(key);
    if (value === undefined) throw new Error(`${this.path(key)}: is required`);
    if (value.kind !== "text") throw new Error(`${this.path(key)}: must be a text`);
    if (value.text.trim() === "") throw new Error(`${this.path(key)}: must not be blank`);
    return ownText(value.text);
  }

  /** An optional text, trimmed; a blank one counts as absent. */
  trimmedText(key: string): string | undefined {
    const value = this.tree.entries.get(key);
    if (value === undefined || isAbsent(value)) return undefined;
    if (value.kind !== "text") throw new Error(`${this.path(key)}: must be a text`);
    const text = value.text.trim();
    if (isTrimmedOtherwise(value.text, text)) {
      throw new Error(`${this.path(key)}: must not begin or end with U+FEFF or U+0085`);
    }
    return ownText(text) || undefined;
  }

  /** `true` or `false`, unquoted; `false` if the key is absent. */
  boolean(key: string): boolean {
    const value = this.tree.entries.get(key);
    if (value === undefined) return false;
    const meant = value.kind === "text" && value.plain ? BOOLEANS.get(value.text) : undefined;
    if (meant === undefined) throw new Error(`${this.path(key)}: must be true or false`);
    return meant;
  }

  /** A list is empty if nothing is written after its key. `null` is a value, and not a list. */
  #list(key: string): readonly YamlTree[] {
    const value = this.tree.entries.get(key);
    if (value === undefined || (value.kind === "text" && value.plain && value.text === "")) return [];
    if (value.kind !== "list") throw new Error(`${this.path(key)}: must be a list`);
    return value.items;
  }
}

const NO_ENTRIES: YamlMap = { kind: "map", entries: new Map() };

function isAbsent(value: YamlTree | undefined): boolean {
  return value === undefined || (value.kind === "text" && value.plain && NULLS.has(value.text));
}

/** A copy of the text. A part of a string keeps the whole string in memory, here the whole file. */
function ownText(text: string): string {
  return Buffer.from(text).toString();
}

/**
 * Whether the launcher would trim the text differently. In JavaScript U+FEFF is white space and U+0085 is not; in Unicode,
 * and so in Rust, it is the other way round. A text may contain either one as an escape.
 */
function isTrimmedOtherwise(text: string, trimmed: string): boolean {
  const start = text.length - text.trimStart().length;
  const around = text.slice(0, start) + text.slice(start + trimmed.length);
  return around.includes("\ufeff") || trimmed.startsWith("\u0085") || trimmed.endsWith("\u0085");
}

function isOverlong(text: string): boolean {
  // A character of a string takes at most three bytes. Multiplying first saves most measurements.
  return text.length * 3 > MAX_ENTRY_BYTES && Buffer.byteLength(text) > MAX_ENTRY_BYTES;
}
