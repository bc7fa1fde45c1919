/** At most so many of a kind each second. The others are counted, and the count is told when the second is over. */

const WINDOW_MS = 1000;

export class RateLimit {
  #admitted = 0;
  #refused = 0;
  #isOpen = false;

  /**
   * @param limit how many are let through in a second
   * @param tell is told how many were not, at most once a second
   * @param after runs an action after so many milliseconds
   */
  constructor(
    readonly limit: number,
    readonly tell: (count: number) => void,
    readonly after: (ms: number, action: () => void) => void = (ms, action) => {
      setTimeout(action, ms).unref();
    },
  ) {}

  admits(): boolean {
    // A second begins with the first of its kind, so that nothing runs where nothing happens.
    if (!this.#isOpen) {
      this.#isOpen = true;
      this.after(WINDOW_MS, () => this.close());
    }
    if (this.#admitted < this.limit) {
      this.#admitted++;
      return true;
    }
    this.#refused++;
    return false;
  }

  /** Ends the second now. */
  close(): void {
    const count = this.#refused;
    this.#isOpen = false;
    this.#admitted = this.#refused = 0;
    if (count > 0) this.tell(count);
  }
}
