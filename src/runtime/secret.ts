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
