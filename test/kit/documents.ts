/** The project's Markdown documents, and the code blocks in them. */

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

export const ROOT = join(import.meta.dir, "..", "..");

/**
 * Folders that are not part of the project. A hidden one may be what another test builds right now, and be gone before
 * it is read.
 */
const isForeign = (folder: string) =>
  folder.startsWith(".") || ["node_modules", "dist", "library"].includes(folder);

export interface Document {
  /** From the project's root. */
  readonly path: string;
  readonly text: string;
}

export interface Block {
  readonly document: string;
  /** Of its first fence, counted from 1. */
  readonly line: number;
  /** The word after the fence, or an empty string. */
  readonly language: string;
  /** Its lines, each with its end. */
  readonly text: string;
}

/** Every Markdown document of the project. */
export function documents(): Document[] {
  return markdownBeneath("").map((path) => ({ path, text: readFileSync(join(ROOT, path), "utf8") }));
}

function markdownBeneath(folder: string): string[] {
  return readdirSync(join(ROOT, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return isForeign(entry.name) ? [] : markdownBeneath(path);
    return entry.name.endsWith(".md") ? [path] : [];
  });
}

/** The fenced blocks of a document, in their order. */
export function blocksOf({ path, text }: Document): Block[] {
  const blocks: Block[] = [];
  let open: { fence: string; language: string; line: number; lines: string[] } | undefined;
  for (const [index, line] of text.split("\n").entries()) {
    const fence = /^\s*(`{3,})(.*)$/.exec(line);
    if (!open && fence) {
      open = { fence: fence[1] ?? "", language: fence[2]?.trim() ?? "", line: index + 1, lines: [] };
    } else if (open && line.trim() === open.fence) {
      const body = open.lines.map((one) => `${one}\n`).join("");
      blocks.push({ document: path, line: open.line, language: open.language, text: body });
      open = undefined;
    } else {
      open?.lines.push(line);
    }
  }
  if (open) throw new Error(`${path}:${open.line}: this block does not end`);
  return blocks;
}

/** Every block of every document. */
export function allBlocks(): Block[] {
  return documents().flatMap(blocksOf);
}

/** A block as a test's message names it. */
export function placeOf({ document, line }: Block): string {
  return `${document}:${line}`;
}
