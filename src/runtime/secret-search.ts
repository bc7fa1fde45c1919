/**
 * Finds a token in a text, in time that grows with the text alone. A child chooses both its door's token and what it
 * writes. For "aaa…b" in "aaa…" the engine's own search would compare nearly the whole token at every place.
 */

import type { Secret } from "./secret.ts";

/**
 * How many characters are searched for first. If these are not in the text, the token is not either, and this check is
 * quick.
 */
const BEGINNING = 32;

/** Where the secret starts in the text. Occurrences do not overlap. */
export function occurrencesOf(secret: Secret, text: string): number[] {
  const token = secret.reveal();
  const places: number[] = [];
  let at = text.indexOf(token.slice(0, BEGINNING));
  if (at < 0) return places;
  const borders = bordersOf(secret);
  for (let matched = 0; at < text.length; at++) {
    matched = goOn(token, borders, matched, text.charCodeAt(at));
    if (matched < token.length) continue;
    places.push(at + 1 - matched);
    matched = 0;
  }
  return places;
}

/** How many characters at the end of the text are the beginning of the secret, without being all of it. */
export function begunAtEnd(secret: Secret, text: string): number {
  const token = secret.reveal();
  const borders = bordersOf(secret);
  let matched = 0;
  for (let at = Math.max(0, text.length - token.length + 1); at < text.length; at++) {
    matched = goOn(token, borders, matched, text.charCodeAt(at));
  }
  return matched;
}

/** How many characters of the token match after one more character, if `matched` did before (Knuth, Morris, Pratt). */
function goOn(token: string, borders: Uint16Array, matched: number, code: number): number {
  let length = matched;
  while (length > 0 && token.charCodeAt(length) !== code) length = borders[length] ?? 0;
  return token.charCodeAt(length) === code ? length + 1 : 0;
}

const known = new WeakMap<Secret, Uint16Array>();

/** For the first `n` characters of the token: the length of their longest proper prefix that is also their suffix. */
function bordersOf(secret: Secret): Uint16Array {
  let borders = known.get(secret);
  if (!borders) {
    const token = secret.reveal();
    borders = new Uint16Array(token.length + 1);
    for (let length = 1; length < token.length; length++) {
      borders[length + 1] = goOn(token, borders, borders[length] ?? 0, token.charCodeAt(length));
    }
    known.set(secret, borders);
  }
  return borders;
}
