/** Changes a document in a few small ways, and mixes in pieces of another. */

import { ODD } from "./pieces.ts";
import type { Random } from "./random.ts";

/** Characters that mean something, and two that do not. */
export const STRUCTURE = [..." \n:-#,[]{}'\"|>?&*!%\\\ta0"];

export function mutate(document: string, other: string, random: Random): string {
  let changed = document;
  for (let left = 1 + random.below(3); left > 0; left--) changed = change(changed, other, random);
  return changed;
}

function change(text: string, other: string, random: Random): string {
  const at = random.below(text.length + 1);
  const piece = 1 + random.below(3);
  switch (random.below(9)) {
    case 0:
      return text.slice(0, at) + text.slice(at + piece);
    case 1:
    case 2:
      return text.slice(0, at) + random.pick(STRUCTURE) + text.slice(at);
    case 3:
      return text.slice(0, at) + random.pick(STRUCTURE) + text.slice(at + 1);
    case 4:
      return text.slice(0, at) + random.pick(ODD) + text.slice(at);
    case 5: {
      const from = random.below(other.length + 1);
      return text.slice(0, at) + other.slice(from, from + 1 + random.below(20)) + text.slice(at);
    }
    case 6:
      return changeLine(text, random, (line) => " ".repeat(random.below(3)) + line.slice(random.below(3)));
    case 7:
      return changeLine(text, random, (line) => `${line}\n${random.once(2) ? line : ""}`);
    default:
      return changeLine(
        text,
        random,
        (line) => line + random.pick([" ", "  ", " # c", ":", ": a", ",", " |", " >-"]),
      );
  }
}

function changeLine(text: string, random: Random, how: (line: string) => string): string {
  const lines = text.split("\n");
  const at = random.below(lines.length);
  lines[at] = how(lines[at] ?? "");
  return lines.join("\n");
}
