import { inspect } from "node:util";

/** What is shown in a token's place, everywhere. */
export const REDACTED = "<redacted>";

/**
 * A bearer token that does not show: printed, inspected, serialised, cloned, put in a template or an error, it is
 * `<redacted>`. A class, because only a private field hides its value from whatever walks an object.
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

  /** Whether `given` is the token. How long that takes tells nothing of how much of it was right. */
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
 * The text as a bearer token: 1 to 8192 visible ASCII characters. Anything else could not travel in a header, or
 * would carry a second one with it.
 */
export function parseSecret(text: unknown): Secret | undefined {
  return typeof text === "string" && TOKEN.test(text) ? new Secret(text) : undefined;
}
