/**
 * Install patterns: an exact name, or a prefix followed by `*`.
 *
 * `p*` covers every name and every pattern that begins with `p`; in `*` alone, `p` is empty. An exact name covers itself
 * only.
 */

const PATTERN = /^(?:[a-z0-9/-]+\*?|\*)$/;

/** A parent's patterns, indexed by the lengths of their prefixes. */
export class InstallPatterns {
  readonly #names = new Set<string>();
  readonly #prefixes = new Set<string>();
  readonly #lengths = new Set<number>();

  /** A malformed pattern covers nothing. */
  add(pattern: string): void {
    if (!PATTERN.test(pattern)) return;
    if (!pattern.endsWith("*")) {
      this.#names.add(pattern);
      return;
    }
    const prefix = pattern.slice(0, -1);
    this.#prefixes.add(prefix);
    this.#lengths.add(prefix.length);
  }

  /** Whether one of the patterns covers this one; a malformed pattern is never covered. */
  covers(pattern: string): boolean {
    if (!PATTERN.test(pattern)) return false;
    if (this.#names.has(pattern)) return true;
    // Loops over this text's lengths: a parent may have hundreds of others, and this runs for each of a child's entries.
    // The star at the end of a pattern is in no prefix.
    for (let length = 0; length <= pattern.length; length++) {
      if (this.#lengths.has(length) && this.#prefixes.has(pattern.slice(0, length))) return true;
    }
    return false;
  }
}
