/** What the tests of one file share: made before the first of them, ended after the last. */

import { afterAll, beforeAll } from "bun:test";

/**
 * The members of what `make` makes, to be taken apart at once and used within tests: each stands for the object that
 * is there by then.
 */
export function shared<T extends object>(
  make: () => Promise<T>,
  end: (made: T) => Promise<void>,
): { readonly [K in keyof T & string]: T[K] } {
  let made: T | undefined;
  beforeAll(async () => {
    made = await make();
  });
  afterAll(async () => {
    if (made) await end(made);
  });
  const there = (key: string): object => {
    const member: unknown = made && Reflect.get(made, key);
    if (typeof member === "object" && member !== null) return member;
    throw new Error(`${key} is there within tests only, and must be an object`);
  };
  const standIn = (key: string) => new Proxy({}, { get: (_, name) => Reflect.get(there(key), name) });
  return new Proxy({} as T, { get: (_, key) => standIn(String(key)) });
}
