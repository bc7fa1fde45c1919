/**
 * What was made of artifacts, by the hash of their bytes, as long as anybody holds it. A session holds on to what it was
 * granted, whatever is forgotten here: a thousand sessions of one artifact must not hold it a thousand times.
 */

import type { Sha256 } from "./artifact-name.ts";

export class Shared<Held> {
  readonly #held = new Map<Sha256, WeakRef<Held & object>>();
  readonly #forgotten = new FinalizationRegistry<Sha256>((sha256) => {
    // It may have been made again since.
    if (this.#held.get(sha256)?.deref() === undefined) this.#held.delete(sha256);
  });

  /** What is held already of these bytes, else `made`, from now on. */
  of(sha256: Sha256, made: Held): Held {
    if (!isObject(made)) return made;
    const held = this.#held.get(sha256)?.deref();
    if (held) return held;
    this.#held.set(sha256, new WeakRef(made));
    this.#forgotten.register(made, sha256);
    return made;
  }
}

function isObject<T>(value: T): value is T & object {
  return typeof value === "object" && value !== null;
}
