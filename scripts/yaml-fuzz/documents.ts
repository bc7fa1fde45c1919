/** Makes the documents: at random by grammar and mutation, or all texts over an alphabet. */

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Grammar } from "./grammar.ts";
import { mutate, STRUCTURE } from "./mutation.ts";
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
