/** Text for people: makes text from manifests safe for a terminal, with or without colour. */

import { printable } from "../../printable.ts";

export type Style = "granted" | "refused" | "missing" | "faint" | "strong";

/** Makes a piece of a line safe, and colours it. */
export type Paint = (style: Style | undefined, text: string) => string;

const CODES: { readonly [S in Style]: string } = {
  granted: "32",
  refused: "31",
  missing: "33",
  faint: "2",
  strong: "1",
};

export const plain: Paint = (_, text) => printable(text);

export const coloured: Paint = (style, text) =>
  style === undefined ? printable(text) : `\u001b[${CODES[style]}m${printable(text)}\u001b[0m`;

/** An entry of a list, quoted if it could be read as two entries or as none. */
export function entryText(entry: string): string {
  return entry === "" || /[\s,"]/.test(entry) ? JSON.stringify(entry) : entry;
}

export function entriesText(kind: string, entries: readonly string[]): string {
  return entries.map((entry) => declarationText(kind, entry)).join(", ");
}

/** Gives a scope that is not declared a text to show. */
function declarationText(kind: string, entry: string): string {
  return kind === "scope" && entry === "" ? "no scope: the whole workdir" : entryText(entry);
}

/** `1 pair`, `2 pairs`. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}
