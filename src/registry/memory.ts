/**
 * What a registry remembers for one kind of caller: the most recently used artifacts, limited in number and in bytes of
 * manifests. A manifest takes up to fifty times as much memory as its text, so limiting the number is not enough.
 */

import type { Sighting } from "./file-stamp.ts";

/** What is known about a coordinate. Valid as long as its files do not change. */
export type Entry<Resolution> = { readonly seen: readonly Sighting[] } & (
  | { readonly state: "being read"; readonly result: Promise<Resolution> }
  /** `bytes`: the size of the manifest that the resolution was made from; 0 if nothing of it is kept. */
  | { readonly state: "known"; readonly resolution: Resolution; readonly bytes: number }
);

export interface MemoryLimits {
  /** The most artifacts remembered. The least recently used one is dropped first. */
  readonly kept: number;
  /** The most bytes that their manifests may have together. */
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

  /** Keeps the entry, as the most recently used one. */
  keep(key: string, entry: Entry<Resolution>): void {
    this.#drop(key);
    this.#entries.set(key, entry);
    this.#bytes += bytesOf(entry);
    for (const oldest of this.#entries.keys()) {
      if (this.#entries.size <= this.#limits.kept && this.#bytes <= this.#limits.keptBytes) return;
      this.#drop(oldest);
    }
  }

  /** Forgets the entry, unless another has replaced it. */
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
