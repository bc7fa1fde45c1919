/** What a registry remembers for one kind of caller: so many artifacts, those that were asked for last. */

import type { Sighting } from "./file-stamp.ts";

/** What is known of a coordinate as long as its files stand as they were seen. */
export type Entry<Resolution> = { readonly seen: readonly Sighting[] } & (
  | { readonly state: "being read"; readonly result: Promise<Resolution> }
  | { readonly state: "known"; readonly resolution: Resolution }
);

export class Memory<Resolution> {
  readonly #capacity: number;
  readonly #entries = new Map<string, Entry<Resolution>>();

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  get(key: string): Entry<Resolution> | undefined {
    return this.#entries.get(key);
  }

  /** Keeps it as the one asked for last. */
  keep(key: string, entry: Entry<Resolution>): void {
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    if (this.#entries.size <= this.#capacity) return;
    for (const oldest of this.#entries.keys()) {
      this.#entries.delete(oldest);
      break;
    }
  }

  /** Forgets the entry, unless another has taken its place. */
  forget(key: string, entry: Entry<Resolution>): void {
    if (this.#entries.get(key) === entry) this.#entries.delete(key);
  }
}
