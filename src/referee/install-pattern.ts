/**
 * Install patterns: an exact name, or a prefix followed by `*`.
 *
 * `p*` covers every name that begins with `p` and every pattern whose text before its star does; `*` alone is the empty
 * prefix. An exact name covers itself only.
 */

const PATTERN = /^(?:[a-z0-9/-]+\*?|\*)$/;

/** A parent's patterns, indexed by the lengths of their prefixes. */
export class InstallPatterns {
  readonly #names = new Set<string>();
  readonly #prefixes = new Set<string>();
  readonly #lengths: readonly number[];

  constructor(patterns: readonly string[]) {
    for (const pattern of patterns) {
      if (!PATTERN.test(pattern)) continue;
      if (pattern.endsWith("*")) this.#prefixes.add(pattern.slice(0, -1));
      else this.#names.add(pattern);
    }
    this.#lengths = [...new Set([...this.#prefixes].map((prefix) => prefix.length))];
  }

  /** Whether one of the patterns covers this one; a malformed pattern is never covered. */
  covers(pattern: string): boolean {
    if (!PATTERN.test(pattern)) return false;
    if (this.#names.has(pattern)) return true;
    const text = pattern.endsWith("*") ? pattern.slice(0, -1) : pattern;
    return this.#lengths.some((length) => length <= text.length && this.#prefixes.has(text.slice(0, length)));
  }
}
