/**
 * What a registry remembers for one kind of caller: so many artifacts, of so many bytes of manifests, those that were asked
 * for last. What is made of a manifest takes up to fifty times the memory of its text, so a number alone is no bound.
 */

import type { Sighting } from "./file-stamp.ts";

/** What is known of a coordinate as long as its files stand as they were seen. */
export type Entry<Resolution> = { readonly seen: readonly Sighting[] } & (
  | { readonly state: "being read"; readonly result: Promise<Resolution> }
  /** `bytes`: those of the manifest that the resolution was made of, 0 where nothing of it is held. */
  | { readonly state: "known"; readonly resolution: Resolution; readonly bytes: number }
);

export interface MemoryLimits {
  /** Artifacts remembered; the one that was asked for longest ago goes first. */
  readonly kept: number;
  /** Bytes of their manifests, taken together. */
  readonly keptBytes: number;
}

export class Memory<Resolution> {
  readonly #limits: MemoryLimits;
  readonly #entries = new Map<string, Entry<Resolution>>();
  #bytes = 0;

  constructor(limits: MemoryLimits) {
    this.#limits = limits;
  }

  get(key: string): Entry<Resolution> | undefined {
    return this.#entries.get(key);
  }

  /** Keeps it as the one asked for last. */
  keep(key: string, entry: Entry<Resolution>): void {
    this.#drop(key);
    this.#entries.set(key, entry);
    this.#bytes += bytesOf(entry);
    for (const oldest of this.#entries.keys()) {
      if (this.#entries.size <= this.#limits.kept && this.#bytes <= this.#limits.keptBytes) return;
      this.#drop(oldest);
    }
  }

  /** Forgets the entry, unless another has taken its place. */
  forget(key: string, entry: Entry<Resolution>): void {
    if (this.#entries.get(key) === entry) this.#drop(key);
  }

  #drop(key: string): void {
    const entry = this.#entries.get(key);
    if (!entry) return;
    this.#entries.delete(key);
    this.#bytes -= bytesOf(entry);
  }
}

function bytesOf(entry: Entry<unknown>): number {
  return entry.state === "known" ? entry.bytes : 0;
}
