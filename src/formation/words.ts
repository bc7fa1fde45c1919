/** What all text for people shares: it is safe for a terminal, with or without colour, and names things in one way. */

import { printable } from "../printable.ts";
import { AXES } from "../referee/axes.ts";
import { childOf, type Edge } from "./schema.ts";

/** How text is written: with colour for a terminal, or without. */
export interface TextOptions {
  readonly colour?: boolean;
}

const CODES = { granted: "32", refused: "31", missing: "33", faint: "2", strong: "1" };

export type Style = keyof typeof CODES;

/** Makes a piece of a line safe, and colours it. */
export type Paint = (text: string, style?: Style) => string;

export function paintFor({ colour }: TextOptions): Paint {
  return (text, style) =>
    colour && style ? `\u001b[${CODES[style]}m${printable(text)}\u001b[0m` : printable(text);
}

/** The verdict on an edge, in a word or two. */
export function verdictText({ verdict }: Edge): string {
  switch (verdict) {
    case "granted":
    case "refused":
      return verdict;
    case "unresolved":
      return "cannot be resolved";
    case "not-in-registry":
      return "not in the registry";
    case "not-a-full-name":
      return "not a full name, so no request can name it";
    default:
      return verdict satisfies never;
  }
}

/** The child's coordinate, or the entry that lists it if there is no version. */
export function childText(edge: Edge): string {
  return edge.version === null ? entryText(edge.name) : childOf(edge);
}

/** An entry of a list, quoted if it could be read as two entries or as none. */
export function entryText(entry: string): string {
  return entry === "" || /[\s,"]/.test(entry) ? JSON.stringify(entry) : entry;
}

const KINDS = new Map(AXES.map(({ key, kind }) => [key, kind]));

/** What a manifest declares under this key. A scope that is not declared gets a text to show. */
export function entriesText(key: string, entries: readonly string[]): string {
  const noEntry = KINDS.get(key) === "scope" ? "no scope: the whole workdir" : entryText("");
  return entries.map((entry) => (entry === "" ? noEntry : entryText(entry))).join(", ");
}
