/** Makes the documents: at random by grammar and mutation, or all texts over an alphabet. */

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Grammar } from "./grammar.ts";
import { ODD } from "./pieces.ts";
import { Random } from "./random.ts";

/** Manifests as people write them. */
const PUBLISHED = join(import.meta.dir, "../../test/registry/manifests");

/** Two thirds come from the grammar unchanged, one third changed, and a few are whole manifests, changed. */
export function* randomDocuments(seed: number, count: number): Generator<string> {
  const random = new Random(seed);
  const grammar = new Grammar(random);
  const published = readdirSync(PUBLISHED).map((name) => readFileSync(join(PUBLISHED, name), "utf8"));
  let other = "";
  for (let made = 0; made < count; made++) {
    const document = grammar.document();
    if (random.once(50)) yield mutate(random.pick(published), document, random);
    else yield random.once(3) ? mutate(document, other, random) : document;
    other = document;
  }
}

/** Characters that mean something, and two that do not. */
const STRUCTURE = [..." \n:-#,[]{}'\"|>?&*!%\\\ta0"];

/** Changes a document in a few small ways, and mixes in pieces of another. */
function mutate(document: string, other: string, random: Random): string {
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

/** `count` copies of `text`, each with one character changed at a random place. */
export function* changedDocuments(text: string, seed: number, count: number): Generator<string> {
  const random = new Random(seed);
  for (let made = 0; made < count; made++) {
    const at = random.below(text.length);
    const character = random.once(2) ? random.pick(STRUCTURE) : String.fromCharCode(random.below(256));
    yield text.slice(0, at) + character + text.slice(at + 1);
  }
}

/** Twelve characters each: those that matter to a document's structure, and those that matter inside texts. */
export const ALPHABETS = [[...'a \n:-#,[]{}"'], [..."a \n:-#|>+'\"\\"]];

/** Beginnings for the documents over an alphabet, so that they also test deeper places. */
export const BEGINNINGS = ["", "k: |\n", "k:\n- >+\n", "k: [", "k: {a", "k:\n- b:"];

/** Every text over an alphabet up to a length, after `beginning`. */
export function* allDocuments(
  alphabet: readonly string[],
  longest: number,
  beginning: string,
): Generator<string> {
  for (let length = 0; length <= longest; length++) {
    const digits = new Array<number>(length).fill(0);
    for (let at = 0; at >= 0; ) {
      yield beginning + digits.map((digit) => alphabet[digit]).join("");
      for (at = length - 1; at >= 0; at--) {
        digits[at] = ((digits[at] ?? 0) + 1) % alphabet.length;
        if (digits[at] !== 0) break;
      }
    }
  }
}
