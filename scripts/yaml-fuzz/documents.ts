/** Where the documents come from: by grammar and mutation without an end, or all over an alphabet. */

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Grammar } from "./grammar.ts";
import { mutate, STRUCTURE } from "./mutation.ts";
import { Random } from "./random.ts";

/** Manifests as people write them. */
const PUBLISHED = join(import.meta.dir, "../../test/registry/manifests");

/** Two thirds of them as the grammar has them, one changed; and now and then a whole manifest, changed. */
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

/** `text` with one character changed, so many times, at places all over it. */
export function* changedDocuments(text: string, seed: number, count: number): Generator<string> {
  const random = new Random(seed);
  for (let made = 0; made < count; made++) {
    const at = random.below(text.length);
    const character = random.once(2) ? random.pick(STRUCTURE) : String.fromCharCode(random.below(256));
    yield text.slice(0, at) + character + text.slice(at + 1);
  }
}

/** Twelve characters each: what gives a document its structure, and what gives a text its own. */
export const ALPHABETS = [[...'a \n:-#,[]{}"'], [..."a \n:-#|>+'\"\\"]];

/** What the documents over an alphabet may follow, so that their characters reach further in. */
export const BEGINNINGS = ["", "k: |\n", "k:\n- >+\n", "k: [", "k: {a", "k:\n- b:"];

/** Every text over an alphabet, behind `beginning`, up to so many characters. */
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
