/** A bearer token, and the search for it in a text. */

import { inspect } from "node:util";

/** Shown in place of a token, everywhere. */
export const REDACTED = "<redacted>";

/**
 * A bearer token that does not reveal itself. Printed, inspected, serialised, cloned, or used in a template or an
 * error, it shows as `<redacted>`. It is a class because only a private field is hidden from code that walks an object.
 */
export class Secret {
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  /** The token itself, for the one header or pipe it is meant for. */
  reveal(): string {
    return this.#text;
  }

  /** Whether `given` is the token. The time it takes does not show how much of it was right. */
  matches(given: string): boolean {
    return crypto.timingSafeEqual(Bun.SHA256.hash(given), Bun.SHA256.hash(this.#text));
  }

  toString(): string {
    return REDACTED;
  }

  toJSON(): string {
    return REDACTED;
  }

  [Symbol.toPrimitive](): string {
    return REDACTED;
  }

  [inspect.custom](): string {
    return REDACTED;
  }
}

const TOKEN = /^[\x21-\x7e]{1,8192}$/;

/**
 * The text as a bearer token: 1 to 8192 visible ASCII characters. Anything else could not be sent in a header, or could
 * smuggle a second header in.
 */
export function parseSecret(text: unknown): Secret | undefined {
  return typeof text === "string" && TOKEN.test(text) ? new Secret(text) : undefined;
}

/** Searched for first. If these characters are not in the text, the token is not either, and this check is quick. */
const BEGINNING = 32;

/**
 * Where the secret starts in the text. Occurrences do not overlap. The time grows with the text alone: a child chooses
 * both its door's token and what it writes, and for "aaa…b" in "aaa…" the engine's own search would compare nearly the
 * whole token at every place.
 *
 * @param most how many places are wanted: the search ends with the last of them
 */
export function occurrencesOf(secret: Secret, text: string, most = Number.POSITIVE_INFINITY): number[] {
  const token = secret.reveal();
  const places: number[] = [];
  let at = text.indexOf(token.slice(0, BEGINNING));
  if (at < 0) return places;
  const borders = bordersOf(secret);
  for (let matched = 0; at < text.length && places.length < most; at++) {
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

/** For the first `n` characters of the token: the length of their longest proper prefix that is also their suffix. */
const bordersOf = onceForEach((token) => {
  const borders = new Uint16Array(token.length + 1);
  for (let length = 1; length < token.length; length++) {
    borders[length + 1] = goOn(token, borders, borders[length] ?? 0, token.charCodeAt(length));
  }
  return borders;
});

/** What is computed of a token, once for each secret. */
export function onceForEach<T extends object>(compute: (token: string) => T): (secret: Secret) => T {
  const known = new WeakMap<Secret, T>();
  return (secret) => {
    const computed = known.get(secret) ?? compute(secret.reveal());
    known.set(secret, computed);
    return computed;
  };
}
