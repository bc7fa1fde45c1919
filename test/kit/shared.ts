/** What the tests of one file share: made before the first of them, ended after the last. */

import { afterAll, beforeAll, setDefaultTimeout } from "bun:test";

/** Undone from the last to the first, as one may need another; Bun runs the hooks themselves from the first on. */
const undoing: AsyncDisposableStack[] = [];

/**
 * Called at the top of a test file; what it returns is called within tests, and gives what `make` made.
 *
 * Hooks, and no `await` at the top of the file: that would run also where no test of the file was asked for, and Bun
 * then runs no `afterAll`.
 *
 * @param make gives everything to `undo` as soon as it is there, so that a set-up which fails half-way is undone too
 */
export function shared<T>(make: (undo: AsyncDisposableStack) => T | Promise<T>): () => T {
  // What is shared are processes for the most part, which start slowly on a machine that is busy with other things.
  setDefaultTimeout(120_000);
  const undo = new AsyncDisposableStack();
  let made: { readonly value: T } | undefined;
  beforeAll(async () => {
    made = { value: await make(undo) };
  });
  undoing.push(undo);
  afterAll(() => undoing.pop()?.disposeAsync());
  return () => {
    if (!made) throw new Error("it is there within tests only, and once the set-up has succeeded");
    return made.value;
  };
}
