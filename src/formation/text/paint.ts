/** Text for people: what came from a manifest is made safe for a terminal, and colour is added to it or not. */

import { printable } from "../../printable.ts";

export type Style = "granted" | "refused" | "missing" | "faint" | "strong";

/** Makes a piece of one line safe, and paints it. */
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

/** An entry of a list; quoted where it could be taken for two, or for none. */
export function entryText(entry: string): string {
  return entry === "" || /[\s,"]/.test(entry) ? JSON.stringify(entry) : entry;
}

export function entriesText(kind: string, entries: readonly string[]): string {
  return entries.map((entry) => declarationText(kind, entry)).join(", ");
}

/** A scope that is not declared has no text of its own. */
function declarationText(kind: string, entry: string): string {
  return kind === "scope" && entry === "" ? "no scope: the whole workdir" : entryText(entry);
}

/** `1 pair`, `2 pairs`. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}
